//! Wrong papers say what is wrong.

use results::query::{Scalar, Values};

use super::*;
use crate::{Bound, Source};

const PAPER: &str = r#"
place = 1
title = "A paper"
figures = ["fig1"]

[criteria]
comparable = { each = { at_most = 10 } }

[lists]
all = ["drops", "pauses"]

[quantities]
drops = { column = "drops.policy" }
"more drops" = { name = "drops", column = "drops.all" }
pauses = { table = "pauses", where = { event = ["xoff"], not_peer = "h0" }, aggregate = "count" }
use = { unit = "%", column = "use" }
"#;

const FIGURE: &str = r#"
title = "A figure"
notes = "None."
baseline = { scheme = "sih" }
quantities = ["all", "use"]
check = { scheme = "dsh" }
common.place = "I"

[[claims]]
text = "fewer drops"
paper = { up_to = 30 }
of = { reduction = "drops" }
cells = { scheme = ["dsh", "adaptive"] }
readings = ["load"]

[[claims]]
says = "comparable"
of = { value = "use" }
cells = { load = "0.5" }
each = [
    { text = "use of links", cells = { scheme = "dsh" } },
    { text = "likewise", place = "II", paper = { about = 12.5 }, on_average = true, against = { scheme = "dt" } },
]
"#;

fn read(paper: &str, figure: &str) -> Result<Paper, String> {
    let text = |text: &str| &*Box::leak(text.to_owned().into_boxed_str());
    let files = vec![("paper.toml", text(paper)), ("figures/fig1.toml", text(figure))];
    super::paper(Box::leak(Box::new(Folder { name: "made-up", files: Box::leak(files.into()) })))
}

#[test]
fn claims_name_quantities_and_cells() {
    let paper = read(PAPER, FIGURE).unwrap();
    let figure = &paper.figures[0];
    let source = &figure.quantities[1].source;
    let Source::Rows(query) = source else { panic!("{source:?}") };
    let [event, peer] = &query.filter[..] else { panic!("{query:?}") };
    let text = |text: &str| vec![Scalar::Text(text.to_owned())];
    assert_eq!((event.column.name, &event.values), ("event", &Values::OneOf(text("xoff"))));
    assert_eq!((peer.column.name, &peer.values), ("peer", &Values::NoneOf(text("h0"))));
    let [fewer, links, likewise] = &figure.claims[..] else { panic!("three claims") };
    let percent = |tenths| Number::per_mille(tenths);
    assert_eq!((fewer.quantity, fewer.view, &*fewer.place), (0, View::Reduction, "I"));
    assert_eq!(fewer.holds, Criterion::Largest(Bound::AtLeast(percent(240))));
    let choice = |axis: &str, choice: &str| (axis.to_owned(), choice.to_owned());
    assert_eq!(fewer.cells, [choice("scheme", "dsh"), choice("scheme", "adaptive")]);
    assert_eq!(links.holds, Criterion::Each(Bound::AtMost(percent(100))));
    assert_eq!(links.cells, [choice("load", "0.5"), choice("scheme", "dsh")]);
    assert_eq!((likewise.quantity, &*likewise.place), (2, "II"));
    assert_eq!(likewise.holds, Criterion::Mean(Bound::Between(percent(100), percent(150))));
    assert_eq!(likewise.against, Some(choice("scheme", "dt")));
}

#[test]
fn wrong_data_is_named() {
    for (before, after, expected) in [
        ("\"fig1\"", "\"fig2\"", "made-up/figures/fig2.toml is missing"),
        ("\"fig1\"", "", "made-up/paper.toml: `figures` lacks `fig1`"),
        ("place = 1", "place = 1\nyear = 2", "unknown field `year`"),
        ("[\"drops\", ", "[\"drop\", ", "paper.toml has no quantity `drop`"),
        ("[\"all\", ", "[\"drops\", \"all\", ", "two quantities have one name"),
        ("[\"drops\", ", "[\"drops\", \"more drops\", ", "two quantities have one name"),
        ("use = {", "drops = {", "duplicate key"),
        ("\"pauses\", where", "\"pause\", where", "`pauses`: no source is read like this"),
        ("not_peer =", "up_to = 3, not_peer =", "no source is read like this"),
        ("{ column = \"drops.p", "{ up_to = 3, column = \"drops.p", "superfluous keys"),
        ("{ column = \"drops.p", "{ reader = \"it\", column = \"drops.p", "no source is read"),
        ("{ reduction = \"drops\" }", "{ reduction = \"drop\" }", "no quantity `drop`"),
        ("{ reduction = \"drops\" }", "{ less = \"drops\" }", "unknown variant `less`"),
        ("{ up_to = 30 }", "{ above = 30 }", "unknown variant `above`"),
        ("up_to = 30", "up_to = true", "invalid type: boolean"),
        ("\"comparable\"\n", "\"worse\"\n", "claim `use of links`: `holds` is missing"),
        ("paper = { up_to", "says = \"x\"\npaper = { up_to", "either `says` or `paper`"),
        ("text = \"fewer drops\"\n", "", "claim ``: `text` is missing"),
        ("{ scheme = \"sih\" }", "{}", "`baseline` is one choice"),
    ] {
        let place = |text: &str| text.replacen(before, after, 1);
        let (paper, figure) = (place(PAPER), place(FIGURE));
        assert!(paper != PAPER || figure != FIGURE, "{before}");
        let error = read(&paper, &figure).expect_err(expected);
        assert!(error.starts_with("made-up/") && error.contains(expected), "{expected}: {error}");
    }
}
