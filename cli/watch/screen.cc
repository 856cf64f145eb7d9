// SPDX-License-Identifier: Apache-2.0
#include "cli/watch/screen.h"

// curses.h defines functions as macros unless this is set.
#define NCURSES_NOMACROS 1
#include <curses.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "cli/watch/signals.h"
#include "cli/watch/terminfo.h"

namespace jetmem::watch {
namespace {

constexpr int kEscapeMilliseconds = 200;  // a slow line splits what arrow keys send

struct TerminalStyle {
  short color;     // COLOR_*; -1: the terminal's own
  attr_t with;     // with colour
  attr_t without;  // on a terminal without
};

// In the order of Style.
constexpr std::array<TerminalStyle, 11> kLooks{{{-1, A_NORMAL, A_NORMAL},
                                                {-1, A_DIM, A_NORMAL},
                                                {-1, A_BOLD, A_BOLD},
                                                {-1, A_REVERSE, A_REVERSE},
                                                {COLOR_GREEN, A_NORMAL, A_NORMAL},
                                                {COLOR_YELLOW, A_BOLD, A_BOLD},
                                                {COLOR_RED, A_BOLD, A_REVERSE},
                                                {COLOR_CYAN, A_NORMAL, A_NORMAL},
                                                {COLOR_BLUE, A_NORMAL, A_NORMAL},
                                                {COLOR_MAGENTA, A_NORMAL, A_NORMAL},
                                                {COLOR_YELLOW, A_NORMAL, A_NORMAL}}};
static_assert(kLooks.size() == static_cast<std::size_t>(Style::kKernel) + 1);

bool colored = false;

attr_t attributes_of(Style style) {
  const TerminalStyle& look = kLooks[static_cast<std::size_t>(style)];
  if (!colored) return look.without;
  if (look.color < 0) return look.with;
  return look.with | static_cast<attr_t>(COLOR_PAIR(look.color + 1));
}

void set_colors() {
  ::start_color();
  const short back = ::use_default_colors() == OK ? -1 : COLOR_BLACK;
  for (short color = COLOR_BLACK; color <= COLOR_WHITE; ++color) {
    ::init_pair(static_cast<short>(color + 1), color, back);
  }
}

constexpr int kCtrlL = 12;
constexpr int kEscapeKey = 27;
constexpr int kDelete = 127;
constexpr std::pair<int, Key> kKeys[] = {{ERR, Key::kNone},
                                         {'q', Key::kQuit},
                                         {'Q', Key::kQuit},
                                         {'h', Key::kHelp},
                                         {'?', Key::kHelp},
                                         {'p', Key::kPause},
                                         {' ', Key::kPause},
                                         {'+', Key::kFaster},
                                         {'=', Key::kFaster},
                                         {'-', Key::kSlower},
                                         {'s', Key::kSort},
                                         {KEY_UP, Key::kUp},
                                         {'k', Key::kUp},
                                         {KEY_DOWN, Key::kDown},
                                         {'j', Key::kDown},
                                         {KEY_PPAGE, Key::kPageUp},
                                         {KEY_NPAGE, Key::kPageDown},
                                         {KEY_HOME, Key::kHome},
                                         {KEY_END, Key::kEnd},
                                         {'\t', Key::kNextView},
                                         {KEY_BTAB, Key::kPreviousView},
                                         {KEY_LEFT, Key::kBack},
                                         {KEY_RIGHT, Key::kForward},
                                         {KEY_SLEFT, Key::kFarBack},
                                         {'<', Key::kFarBack},
                                         {KEY_SRIGHT, Key::kFarForward},
                                         {'>', Key::kFarForward},
                                         {'l', Key::kLive},
                                         {'t', Key::kTime},
                                         {'/', Key::kFilter},
                                         {KEY_F(1), Key::kHelp},
                                         {KEY_F(4), Key::kFilter},
                                         {KEY_F(6), Key::kSort},
                                         {KEY_F(10), Key::kQuit},
                                         {'\r', Key::kEnter},
                                         {'\n', Key::kEnter},
                                         {KEY_ENTER, Key::kEnter},
                                         {kEscapeKey, Key::kEscape},
                                         {KEY_BACKSPACE, Key::kErase},
                                         {'\b', Key::kErase},
                                         {kDelete, Key::kErase},
                                         {kCtrlL, Key::kRedraw}};

Key key_of(int pressed) {
  if (pressed >= '1' && pressed <= '6') {
    return static_cast<Key>(static_cast<int>(Key::kView1) + (pressed - '1'));
  }
  for (const auto& [code, key] : kKeys) {
    if (code == pressed) return key;
  }
  return Key::kOther;
}

}  // namespace

Result<std::unique_ptr<Screen>> Screen::open(bool color) {
  if (::isatty(STDOUT_FILENO) != 1 || ::isatty(STDIN_FILENO) != 1) {
    return fail(Errc::kInvalid,
                "needs a terminal for output and keys: "
                "`jetmem status` and `jetmem top` do not");
  }
  const auto undo = load_terminfo();
  if (!undo) return tl::unexpected(undo.error());
  restore_on_crash(undo->c_str());
  SCREEN* const screen = ::newterm(nullptr, stdout, stdin);
  if (screen == nullptr) {
    return fail(Errc::kInvalid, "curses cannot draw on this terminal");
  }
  // Instead of curses' own handlers, which would run once these are no longer blocked.
  for (const int signal : {SIGINT, SIGTERM, SIGTSTP}) std::signal(signal, SIG_DFL);
  ::set_escdelay(kEscapeMilliseconds);
  ::cbreak();
  ::noecho();
  ::nonl();
  ::keypad(stdscr, TRUE);
  ::nodelay(stdscr, TRUE);
  ::curs_set(0);
  colored = color && ::has_colors();
  if (colored) set_colors();
  return std::unique_ptr<Screen>(new Screen());
}

Screen::~Screen() {
  ::endwin();
  restored();
}

Size Screen::size() const {
  return {static_cast<std::size_t>(std::max(::getmaxy(stdscr), 1)),
          static_cast<std::size_t>(std::max(::getmaxx(stdscr), 1))};
}

void Screen::draw(const std::vector<Line>& lines) {
  // Costs nothing on the line: curses compares with what is there before it sends.
  ::werase(stdscr);
  int row = 0;
  for (const Line& line : lines) {
    ::wmove(stdscr, row++, 0);
    for (const Piece& piece : line.pieces()) {
      ::wattrset(stdscr, static_cast<int>(attributes_of(piece.style)));
      ::waddnstr(stdscr, piece.text.data(), static_cast<int>(piece.text.size()));
    }
  }
  ::wattrset(stdscr, A_NORMAL);
  ::wrefresh(stdscr);
}

Press Screen::key() {
  const int pressed = ::wgetch(stdscr);
  if (pressed == kCtrlL) ::clearok(curscr, TRUE);
  const bool is_text = pressed >= ' ' && pressed < kDelete;
  return {key_of(pressed), is_text ? static_cast<char>(pressed) : '\0'};
}

void Screen::resized() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return;
  if (size.ws_row == 0 || size.ws_col == 0) return;
  ::resizeterm(size.ws_row, size.ws_col);
  ::clearok(curscr, TRUE);
}

void Screen::suspend() { ::endwin(); }

void Screen::resume() {
  resized();  // it may have changed meanwhile
  ::clearok(curscr, TRUE);
  ::wrefresh(stdscr);
}

}  // namespace jetmem::watch
