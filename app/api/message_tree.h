// SPDX-License-Identifier: Apache-2.0
// MessageTree: the messages of a chat, the path that is shown, and the versions of each message on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "app/api/history.h"

namespace lathe::app {

/// A path reads as a list of messages. It refers to the tree.
class MessagePath {
 public:
  class Iterator {
   public:
    using difference_type = std::ptrdiff_t;
    using value_type = StoredMessage;
    using iterator_category = std::input_iterator_tag;
    explicit Iterator(const StoredMessage* const* at) : at_(at) {}
    const StoredMessage& operator*() const { return **at_; }
    const StoredMessage* operator->() const { return *at_; }
    Iterator& operator++() { return ++at_, *this; }
    Iterator operator++(int) { return Iterator(at_++); }
    bool operator==(const Iterator&) const = default;

   private:
    const StoredMessage* const* at_;
  };
  std::size_t size() const { return list_.size(); }
  bool empty() const { return list_.empty(); }
  const StoredMessage& operator[](std::size_t i) const { return *list_[i]; }
  const StoredMessage& at(std::size_t i) const { return *list_.at(i); }
  const StoredMessage& front() const { return *list_.front(); }
  const StoredMessage& back() const { return *list_.back(); }
  Iterator begin() const { return Iterator(list_.data()); }
  Iterator end() const { return Iterator(list_.data() + list_.size()); }

 private:
  friend class MessageTree;
  std::vector<const StoredMessage*> list_;
};

/// A message that was deleted and has no other version is stepped over: the path goes on behind it. Messages whose parents
/// lead to no root are unreachable. Thread: one at a time.
class MessageTree {
 public:
  MessageTree() = default;
  explicit MessageTree(std::vector<StoredMessage> messages);
  MessageTree(const MessageTree&) = delete;
  MessageTree& operator=(const MessageTree&) = delete;
  MessageTree(MessageTree&&) = default;
  MessageTree& operator=(MessageTree&&) = default;

  const MessagePath& path() const { return path_; }
  /// The message that a new one follows: the last of the path, also a deleted one behind it; 0: none.
  std::int64_t tail() const { return tail_; }
  const StoredMessage* find(std::int64_t message) const;
  /// Index on the path; -1: the message is not on it.
  int index_of(std::int64_t message) const;
  /// Messages with the parent of `message` that are not deleted, by ascending id. Empty: there is no such message.
  std::vector<std::int64_t> versions(std::int64_t message) const;

  /// The following calls repeat a change that the history has made. add() gives the message the highest rank.
  void add(StoredMessage message);
  void add_first(StoredMessage message);
  void set_rank(std::int64_t message, std::int64_t rank);
  void set_deleted(std::int64_t message, bool deleted);
  void erase(std::int64_t message);
  /// Gives a message other contents; the path stays.
  void set_text(std::int64_t message, std::string text, std::string footer_json, bool partial);

 private:
  std::int64_t shown_child(std::int64_t parent) const;
  void walk();

  std::map<std::int64_t, StoredMessage> messages_;
  std::map<std::int64_t, std::vector<std::int64_t>> children_;  ///< by parent, by ascending id
  MessagePath path_;
  std::int64_t tail_ = 0, max_rank_ = 0;
};

/// A message for the path's end, not saved yet.
StoredMessage new_message(std::string role, std::string text, std::int64_t parent);

}  // namespace lathe::app
