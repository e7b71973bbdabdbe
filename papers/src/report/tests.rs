//! The report of an invented figure.

use std::sync::LazyLock;

use insta::assert_snapshot;
use sweep::made_up::run;

use super::{Call, csv, markdown, shown_axes};
use crate::made_up::{onset, outcome, paper};
use crate::{Outcome, Paper};

static PAPER: LazyLock<Paper> = LazyLock::new(|| paper(""));

fn call<'a>() -> Call<'a> {
    Call { paper: &PAPER, scale: None, seeds: None }
}

fn report(outcome: Outcome) -> String {
    markdown(&call(), &[&PAPER.figures[0]], &[outcome])
}

#[test]
fn numbers_are_beside_the_papers_and_runs_that_were_cut_are_in_no_mean() {
    let (whole, cut, stuck) = (run(2, Some(30), 0), run(1, Some(10), 0), run(0, None, 0));
    let short = run(2, Some(33), 0);
    let results = [whole.clone(), short, whole.clone(), whole, cut, stuck].map(Some);
    let outcome = outcome(&results);
    assert_snapshot!(csv(&outcome), @"
    switch.buffer,quantity,unit,statistic,n,happened,left_out,value,ci95_low,ci95_high,min,max,ratio,ratio_ci95_low,ratio_ci95_high,ratio_min,ratio_max,ratio_left_out,ratio_of_totals,totals_ci95_low,totals_ci95_high,only_here,only_there,p,incomplete
    1MB,mean FCT,,mean,3,,0,31,26.697,35.303,30,33,1,1,1,1,1,0,,,,,,,0
    1MB,pauses,,mean,3,,0,7002,7002,7002,7002,7002,1,1,1,1,1,0,,,,,,,0
    2MB,mean FCT,,mean,1,,2,30,,,30,30,1,,,1,1,2,,,,,,,2
    2MB,pauses,,mean,3,,0,7001,6998.515662,7003.484338,7000,7002,0.999857,0.999502,1.000212,0.999714,1,0,,,,,,,2
    ");
    assert_snapshot!(report(outcome), @r#"
    # A paper

    ## Which claims hold

    A claim is judged by means, shares and medians, in each reading of what the paper leaves open. "Holds if" comes from the paper's text: its numbers are met within a fifth, "over" as it is, and words as the table says. A share that the paper has in numbers holds or turns if its whole 95 % interval does, and a difference of shares holds if chance makes it in less than one of twenty pairs of cells (McNemar); otherwise they are undecided. Of more than five readings the table has how many; each figure's own table has them all.

    | where | claim | paper | holds if | verdict |
    | --- | --- | --- | --- | --- |
    | I | it is less | yes | each: at most 30 | holds: 30 (2 runs left out) |
    | I | pauses are shorter by | up to 30 % | largest: at least 24 % | holds in no reading: 1MB (up to 0 %), 2MB (up to 0.014 (0 .. 0.029) %) |

    ## A figure

    `xoff reproduce paper fig1`, 3 seeds in each cell

    6 of 6 runs are done; 2 of them cut by their duration.

    None.

    | where | what | paper | ours | difference |
    | --- | --- | --- | --- | --- |
    | I | it is less | yes | 30 (2 runs left out) |  |
    | I | pauses are shorter by; 1MB | up to 30 % | up to 0 % | -30 points |
    | I | pauses are shorter by; 2MB | up to 30 % | up to 0.014 (0 .. 0.029) % | -30 points |

    | switch.buffer | mean FCT | of 1MB, mean of ratios | pauses | of 1MB, mean of ratios |
    | --- | --- | --- | --- | --- |
    | 1MB | 31 (30 .. 33) | 1 | 7002 | 1 |
    | 2MB | 30 (2 runs left out) | 1 (2 runs left out) | 7001 (7000 .. 7002) | 1 (1 .. 1) |

    `a (b .. c)`: mean, and the least and the largest of the seeds. Fewer than 10 seeds have no interval.
    "#);
}

#[test]
fn onsets_are_medians_and_say_how_often_they_happened() {
    let onsets = [Some(10), Some(20), Some(70), Some(40), None, None].map(|time| Some(onset(time)));
    let outcome = outcome(&onsets);
    assert_snapshot!(csv(&outcome), @"
    switch.buffer,quantity,unit,statistic,n,happened,left_out,value,ci95_low,ci95_high,min,max,ratio,ratio_ci95_low,ratio_ci95_high,ratio_min,ratio_max,ratio_left_out,ratio_of_totals,totals_ci95_low,totals_ci95_high,only_here,only_there,p,incomplete
    1MB,onset,ms,median,3,3,0,20,,,10,70,1,,,,,0,,,,,,,0
    2MB,onset,ms,median,3,1,0,,,,40,,,,,,,0,,,,,,,0
    ");
    assert_snapshot!(report(outcome), @r#"
    # A paper

    ## Which claims hold

    A claim is judged by means, shares and medians, in each reading of what the paper leaves open. "Holds if" comes from the paper's text: its numbers are met within a fifth, "over" as it is, and words as the table says. A share that the paper has in numbers holds or turns if its whole 95 % interval does, and a difference of shares holds if chance makes it in less than one of twenty pairs of cells (McNemar); otherwise they are undecided. Of more than five readings the table has how many; each figure's own table has them all.

    | where | claim | paper | holds if | verdict |
    | --- | --- | --- | --- | --- |
    | I | it is less | yes | each: at most 30 | undecided: no number |
    | I | pauses are shorter by | up to 30 % | largest: at least 24 % | undecided: 1MB (no number), 2MB (no number) |

    ## A figure

    `xoff reproduce paper fig1`, 3 seeds in each cell

    6 of 6 runs are done.

    None.

    | where | what | paper | ours | difference |
    | --- | --- | --- | --- | --- |
    | I | it is less | yes | no number |  |
    | I | pauses are shorter by; 1MB | up to 30 % | no number |  |
    | I | pauses are shorter by; 2MB | up to 30 % | no number |  |

    | switch.buffer | onset, ms | of 1MB, ratio of medians |
    | --- | --- | --- |
    | 1MB | 20 (10 .. 70), 3 of 3 | 1 |
    | 2MB | not reached by 100 (40 .. over 100), 1 of 3 | over 5 |

    Onsets have the Kaplan-Meier median, its 95 % interval by order statistics or, with fewer than 10 runs, the range, and in how many of how many runs it happened.
    "#);
}

#[test]
fn a_report_names_the_command_and_what_did_not_run() {
    let none = outcome(&[const { None }; 6]);
    assert!(report(none).contains("| I | it is less | yes | each: at most 30 | not run |"));
    let call = Call { scale: Some("small"), seeds: std::num::NonZeroU32::new(3), ..call() };
    let text = markdown(&call, &[&PAPER.figures[0]], &[]);
    assert!(text.contains("| not run |"), "{text}");
    assert!(text.contains("**Figures that have it are of the scale `small`"), "{text}");
    let text = markdown(&call, &[&PAPER.figures[0]], &[outcome(&[const { None }; 6])]);
    let command = "`xoff reproduce paper fig1 --scale small --seeds 3`, 3 seeds in each cell";
    assert!(text.contains(command), "{text}");
    assert!(text.contains("0 of 6 runs are done."), "{text}");
}

#[test]
fn settings_that_all_runs_share_have_no_column() {
    let outcome = outcome(&[const { None }; 6]);
    assert_eq!(shown_axes(&outcome), [0], "two buffers");
    let one = Outcome { cells: outcome.cells.into_iter().take(1).collect(), ..outcome };
    assert_eq!(shown_axes(&one), [0; 0], "one buffer");
    let named = Outcome { axes: vec!["buffer".to_owned()], ..one };
    assert_eq!(shown_axes(&named), [0], "an axis with a name of its own");
}
