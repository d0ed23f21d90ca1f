// SPDX-License-Identifier: Apache-2.0
#include "engine/run/calibration_texts.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace lathe::engine {
namespace {

// A story, a question, a report, a recipe, code, data, a conversation, other languages: a channel that one kind of text
// leaves small is large for another.
constexpr std::array<std::string_view, 8> kTexts = {
    "Once upon a time there was a little girl named Lily. She lived with her mother at the edge of a dark forest. One day "
    "she found a small door in the trunk of an old oak, no taller than her hand. She knocked three times, and a friendly "
    "voice asked who was there. \"It is only me,\" said Lily, and the door opened by itself.",
    "Question: Why is the sky blue during the day and red in the evening? Answer: Air scatters short waves of light more "
    "than long ones. At noon the scattered blue reaches us from everywhere. In the evening the light has come a longer way "
    "through the air, most of the blue has gone aside, and what is left is orange and red.",
    "The council met on Tuesday to discuss the new bridge. According to the report, traffic has grown by 38 percent since "
    "2012, and repairs would cost about 4.7 million. Critics said that the figures were out of date. A decision is expected "
    "before the end of March, a spokesman told reporters after the meeting.",
    "Peel two onions and cut them into thin rings. Heat the oil, add the onions and a pinch of salt, and let them brown for "
    "twenty minutes over a low flame. Stir in 500 g of tomatoes, a bay leaf and some pepper. Cover the pan. When the sauce "
    "is thick, take out the leaf and serve with fresh bread.",
    "def mean(values):\n    total = 0.0\n    for value in values:\n        total += value\n    return total / len(values) "
    "if values else None\n\nint main(void) {\n  for (int i = 0; i < 10; ++i) printf(\"%d: %x\\n\", i, table[i] & 0xff);\n  "
    "return 0;\n}\n",
    "{\"id\": 17, \"name\": \"block pool\", \"tags\": [\"cache\", \"memory\"], \"size\": {\"bytes\": 1048576, \"used\": "
    "0.25}, \"ok\": true, \"next\": null}\n| day | high | low |\n|---|---|---|\n| Mon | 21.5 | 12 |\n| Tue | 19 | 11.5 |\n",
    "User: My train leaves at ten past eight and the station is two miles away. When do I have to start?\nAssistant: On "
    "foot two miles take about forty minutes. Leave at twenty past seven, then you have ten minutes to spare.\nUser: And by "
    "bike?\nAssistant: Then a quarter to eight is early enough.",
    "Der alte Mann ging langsam zum Hafen hinunter. Es war kalt, und \u00fcber dem Wasser lag Nebel. Le lendemain matin, le "
    "soleil brillait de nouveau; nous avons pris le caf\u00e9 sur la terrasse. El tren sale a las nueve y media. "
    "\u0412\u0447\u0435\u0440\u0430 \u0448\u0451\u043b \u0434\u043e\u0436\u0434\u044c. "
    "\u4eca\u5929\u5929\u6c14\u5f88\u597d\u3002",
};

// Most tokens of a text: the rows that a step of the kernels computes at once.
constexpr std::size_t kTokensOfText = 64;

}  // namespace

Result<std::vector<std::vector<std::int32_t>>> calibration_tokens(const Tokenizer& tokenizer, std::int64_t max_model_len) {
  const std::size_t most = std::min(kTokensOfText, static_cast<std::size_t>(max_model_len));
  std::vector<std::vector<std::int32_t>> tokens;
  for (const std::string_view text : kTexts) {
    LATHE_TRY(std::vector<std::int32_t> ids, tokenizer.encode(text, true, false));
    if (ids.size() > most) ids.resize(most);
    if (!ids.empty()) tokens.push_back(std::move(ids));
  }
  return tokens;
}

}  // namespace lathe::engine
