// SPDX-License-Identifier: Apache-2.0
// The empty program whose precompiled headers all tests share.
int main() { return 0; }
