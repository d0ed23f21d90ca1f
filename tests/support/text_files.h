// SPDX-License-Identifier: Apache-2.0
// A folder that is gone after the test, and files written into it.
#pragma once

#include <QTemporaryDir>
#include <fstream>
#include <string>

namespace lathe::tests {

class TextFolder {
 public:
  std::string path() const { return folder_.path().toStdString(); }
  /// The path of the file written.
  std::string write(const std::string& name, const std::string& bytes) const {
    const std::string file = path() + "/" + name;
    std::ofstream(file, std::ios::binary) << bytes;
    return file;
  }

 private:
  QTemporaryDir folder_;
};

}  // namespace lathe::tests
