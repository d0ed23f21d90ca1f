// SPDX-License-Identifier: Apache-2.0
#include "app/api/message_tree.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace lathe::app {

MessageTree::MessageTree(std::vector<StoredMessage> messages) {
  std::sort(messages.begin(), messages.end(), [](const StoredMessage& a, const StoredMessage& b) { return a.id < b.id; });
  for (StoredMessage& message : messages) {
    children_[message.parent].push_back(message.id);
    max_rank_ = std::max(max_rank_, message.rank);
    const std::int64_t id = message.id;
    messages_.insert_or_assign(id, std::move(message));
  }
  walk();
}

const StoredMessage* MessageTree::find(std::int64_t message) const {
  const auto found = messages_.find(message);
  return found == messages_.end() ? nullptr : &found->second;
}

int MessageTree::index_of(std::int64_t message) const {
  // Recent messages are asked for most.
  for (std::size_t i = path_.size(); i-- > 0;)
    if (path_[i].id == message) return static_cast<int>(i);
  return -1;
}

std::vector<std::int64_t> MessageTree::versions(std::int64_t message) const {
  std::vector<std::int64_t> list;
  const StoredMessage* stored = find(message);
  const auto siblings = stored == nullptr ? children_.end() : children_.find(stored->parent);
  if (siblings == children_.end()) return list;
  std::copy_if(siblings->second.begin(), siblings->second.end(), std::back_inserter(list),
               [this](std::int64_t id) { return !messages_.at(id).deleted; });
  return list;
}

/// A version that is not deleted goes before all that are; among equals the highest rank is shown.
std::int64_t MessageTree::shown_child(std::int64_t parent) const {
  const auto children = children_.find(parent);
  if (children == children_.end() || children->second.empty()) return 0;
  return *std::max_element(children->second.begin(), children->second.end(), [this](std::int64_t a, std::int64_t b) {
    const StoredMessage &x = messages_.at(a), &y = messages_.at(b);
    return std::make_tuple(!x.deleted, x.rank, x.id) < std::make_tuple(!y.deleted, y.rank, y.id);
  });
}

void MessageTree::walk() {
  path_.list_.clear();
  tail_ = 0;
  // A damaged database could hold a cycle, but none that begins at the root: each message has one parent.
  for (std::int64_t at = shown_child(0); at != 0; at = shown_child(at)) {
    tail_ = at;
    if (const StoredMessage& message = messages_.at(at); !message.deleted) path_.list_.push_back(&message);
  }
}

void MessageTree::add(StoredMessage message) {
  message.rank = ++max_rank_;
  std::vector<std::int64_t>& siblings = children_[message.parent];
  siblings.insert(std::upper_bound(siblings.begin(), siblings.end(), message.id), message.id);
  const std::int64_t id = message.id;
  messages_.insert_or_assign(id, std::move(message));
  walk();
}

void MessageTree::add_first(StoredMessage message) {
  std::vector<std::int64_t> roots = std::exchange(children_[0], {});
  for (const std::int64_t root : roots) messages_.at(root).parent = message.id;
  children_[message.id] = std::move(roots);
  add(std::move(message));
}

void MessageTree::set_rank(std::int64_t message, std::int64_t rank) {
  if (const auto found = messages_.find(message); found != messages_.end()) found->second.rank = rank;
  max_rank_ = std::max(max_rank_, rank);
  walk();
}

void MessageTree::set_deleted(std::int64_t message, bool deleted) {
  if (const auto found = messages_.find(message); found != messages_.end()) found->second.deleted = deleted;
  walk();
}

void MessageTree::erase(std::int64_t message) {
  const auto found = messages_.find(message);
  if (found == messages_.end()) return;
  std::erase(children_[found->second.parent], message);
  messages_.erase(found);
  // The history counts from the highest rank that is left.
  max_rank_ = 0;
  for (const auto& [id, left] : messages_) max_rank_ = std::max(max_rank_, left.rank);
  walk();
}

void MessageTree::set_text(std::int64_t message, std::string text, std::string footer_json, bool partial) {
  const auto found = messages_.find(message);
  if (found == messages_.end()) return;
  found->second.text = std::move(text);
  found->second.footer_json = std::move(footer_json);
  found->second.partial = partial;
}

StoredMessage new_message(std::string role, std::string text, std::int64_t parent) {
  StoredMessage message;
  message.parent = parent;
  message.role = std::move(role);
  message.text = std::move(text);
  return message;
}

}  // namespace lathe::app
