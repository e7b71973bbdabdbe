use insta::assert_snapshot;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::draw::draw;
use super::*;
use crate::glance::fixture::{before, now};

fn screen() -> Screen {
    let description = Description {
        name: "lab".to_owned(),
        process: 1,
        fabric: "abcd".to_owned(),
        dilation: 1,
        calibration: None,
        busy_poll: false,
        real_time: false,
        results: None,
        shape: "star".to_owned(),
        lossy: None,
        hosts: Vec::new(),
        plays: false,
        threads: "1".to_owned(),
    };
    Screen::new(&description)
}

fn shown() -> Screen {
    let mut screen = screen();
    screen.show(Glance::between(&before(), &now()));
    screen
}

fn press(screen: &mut Screen, keys: &str) -> Wish {
    let press = |key| screen.press(KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE));
    keys.chars().map(press).last().unwrap_or(Wish::Nothing)
}

fn drawn(screen: &mut Screen, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, screen)).unwrap();
    terminal.backend().to_string()
}

#[test]
fn ports_pauses_and_switches() {
    assert_snapshot!(drawn(&mut shown(), 110, 22));
}

#[test]
fn hosts_and_what_their_programs_do() {
    let mut screen = shown();
    press(&mut screen, "tp");
    assert_snapshot!(drawn(&mut screen, 110, 10));
}

#[test]
fn help_is_over_all() {
    let mut screen = shown();
    press(&mut screen, "?");
    assert_snapshot!(drawn(&mut screen, 80, 14));
}

#[test]
fn before_the_first_period_and_when_nobody_answers() {
    let mut screen = screen();
    screen.miss("it does not answer".to_owned());
    let text = drawn(&mut screen, 60, 8);
    assert!(text.contains("it does not answer") && text.contains("after a period"), "{text}");
    let mut screen = shown();
    screen.miss("it does not answer".to_owned());
    assert!(drawn(&mut screen, 60, 8).contains("it does not answer"));
    screen.show(Glance::between(&before(), &now()));
    assert!(!drawn(&mut screen, 60, 8).contains("it does not answer"));
}

#[test]
fn every_size_can_be_drawn() {
    for keys in ["", "t", "?", "s"] {
        let mut screen = shown();
        press(&mut screen, keys);
        for width in (1..12).chain([20, 60, 300]) {
            for height in (1..20).chain([60]) {
                drawn(&mut screen, width, height);
            }
        }
    }
}

fn wires(screen: &Screen) -> Vec<String> {
    let glance = screen.glance.as_ref().expect("it was shown");
    screen.ports(glance).iter().map(|port| port.wire.clone()).collect()
}

#[test]
fn keys_sort_the_table() {
    let mut screen = shown();
    assert_eq!(wires(&screen)[..2], ["leaf0->h0", "h0->leaf0"], "by rate");
    press(&mut screen, "p");
    assert_eq!(wires(&screen)[..3], ["h1->leaf0", "h2->leaf0", "leaf0->h0"]);
    press(&mut screen, "u");
    assert_eq!(wires(&screen)[0], "leaf0->h0");
    press(&mut screen, "d");
    assert_eq!(wires(&screen)[..3], ["leaf0->h0", "leaf0->h1", "leaf0->h2"]);
    press(&mut screen, "o");
    assert_eq!(wires(&screen)[3], "h0->leaf0");
}

#[test]
fn a_switch_is_picked_and_all_come_after_the_last() {
    let mut glance = Glance::between(&before(), &now());
    glance.switches.push(SwitchGlance { name: "leaf1".to_owned(), ..SwitchGlance::default() });
    let mut screen = screen();
    press(&mut screen, "s");
    assert_eq!(screen.switch, None, "there is none to pick yet");
    screen.show(glance);
    press(&mut screen, "ss");
    assert_eq!((screen.switch.as_deref(), wires(&screen).len()), (Some("leaf1"), 0));
    press(&mut screen, "s");
    assert_eq!((screen.switch.as_deref(), wires(&screen).len()), (None, 6));
    press(&mut screen, "SS");
    assert_eq!(screen.switch.as_deref(), Some("leaf0"));
    press(&mut screen, "a");
    assert_eq!(screen.switch, None);
}

#[test]
fn a_frozen_screen_stays_until_it_is_thawed() {
    let mut screen = shown();
    press(&mut screen, "f");
    screen.show(Glance::between(&now(), &now()));
    assert_eq!(screen.glance.as_ref().map(|glance| glance.period_ns), Some(500_000_000));
    assert!(drawn(&mut screen, 80, 20).contains("FROZEN"));
    press(&mut screen, " ");
    screen.show(Glance::between(&now(), &now()));
    assert_eq!(screen.glance.as_ref().map(|glance| glance.period_ns), Some(0));
}

#[test]
fn what_does_not_fit_is_scrolled_to() {
    let mut screen = shown();
    press(&mut screen, "o");
    // Three lines of head, two of border, the columns' names and the footer leave three rows.
    let first = drawn(&mut screen, 80, 10);
    assert!(first.contains("1 to 3 of 6") && first.contains("leaf0->h0"), "{first}");
    let page = |screen: &mut Screen, code| screen.press(KeyEvent::new(code, KeyModifiers::NONE));
    page(&mut screen, KeyCode::PageDown);
    let second = drawn(&mut screen, 80, 10);
    assert!(second.contains("4 to 6 of 6") && second.contains("h2->leaf0"), "{second}");
    page(&mut screen, KeyCode::PageDown);
    drawn(&mut screen, 80, 10);
    page(&mut screen, KeyCode::Up);
    assert!(drawn(&mut screen, 80, 10).contains("3 to 5 of 6"));
}

#[test]
fn keys_that_end_it() {
    let quits = |code, modifiers| shown().press(KeyEvent::new(code, modifiers)) == Wish::Quit;
    assert!(quits(KeyCode::Char('q'), KeyModifiers::NONE));
    assert!(quits(KeyCode::Esc, KeyModifiers::NONE));
    assert!(quits(KeyCode::Char('c'), KeyModifiers::CONTROL));
    assert!(!quits(KeyCode::Char('c'), KeyModifiers::NONE));
    assert!(!quits(KeyCode::Char('q'), KeyModifiers::CONTROL));
    let mut helped = shown();
    press(&mut helped, "?");
    let escape = KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE);
    assert_eq!((helped.press(escape), helped.press(escape)), (Wish::Nothing, Wish::Quit));
}
