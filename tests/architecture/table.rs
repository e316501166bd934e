//! The layer table, as ARCHITECTURE.md states it.

use std::collections::{BTreeMap, BTreeSet};

/// The first cell of the header row by which the table is found.
const HEADER: &str = "| Module | May import |";

/// One row: what one module of the crate may use.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    /// The modules it may import, or all of them.
    pub(crate) imports: Imports,
    /// The crates it may use besides `std`, with underscores.
    pub(crate) crates: BTreeSet<String>,
    /// Whether it may reach outside the process.
    pub(crate) edge: Edge,
}

/// Which modules a layer may import.
#[derive(Clone, Debug)]
pub(crate) enum Imports {
    /// Every module.
    Everything,
    /// These.
    Only(BTreeSet<String>),
}

/// Whether a layer may reach outside the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    /// No clock, files, environment, network.
    Pure,
    /// Marked `[cli]`: part of the feature `cli`.
    Cli,
}

/// The whole table, by module.
pub(crate) type Table = BTreeMap<String, Layer>;

/// Reads the table out of the document.
pub(crate) fn parse(markdown: &str) -> Table {
    markdown
        .lines()
        .skip_while(|line| !line.starts_with(HEADER))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(row)
        .collect()
}

fn row(line: &str) -> (String, Layer) {
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let [module, imports, crates] = cells.as_slice() else {
        panic!("a row of the layer table has three cells: {line}");
    };
    let name = quoted(module).pop_first();
    let layer = Layer {
        imports: if *imports == "everything" {
            Imports::Everything
        } else {
            Imports::Only(quoted(imports))
        },
        crates: quoted(crates)
            .into_iter()
            .map(|name| name.replace('-', "_"))
            .collect(),
        edge: if module.ends_with("[cli]") {
            Edge::Cli
        } else {
            Edge::Pure
        },
    };
    (name.expect("the first cell names a module"), layer)
}

/// Returns the words between backticks.
fn quoted(cell: &str) -> BTreeSet<String> {
    cell.split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

/// Returns the layers that `layer` rests on, directly or through others, without itself.
pub(crate) fn below(table: &Table, layer: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![layer.to_owned()];
    while let Some(name) = open.pop() {
        let direct = match table.get(&name).map(|layer| &layer.imports) {
            Some(Imports::Only(names)) => names.clone(),
            // `main` is the other crate of the package: nothing can import it.
            Some(Imports::Everything) => table
                .keys()
                .filter(|name| *name != "main")
                .cloned()
                .collect(),
            None => BTreeSet::new(),
        };
        open.extend(direct.into_iter().filter(|name| found.insert(name.clone())));
    }
    found.remove(layer);
    found
}

#[test]
fn the_table_is_read_with_names_crates_and_edges() {
    let table = parse(
        "text\n\n| Module | May import | Crates |\n|---|---|---|\n| `a` | – | – |\n| `b` [cli] | `a` | `k8s-x` |\n\
         | `c` | everything | – |\n\n| `d` | `a` | – |\n",
    );
    assert_eq!(table.keys().collect::<Vec<_>>(), ["a", "b", "c"]);
    assert!(matches!(&table["a"].imports, Imports::Only(none) if none.is_empty()));
    assert_eq!(table["a"].edge, Edge::Pure);
    assert_eq!(table["b"].edge, Edge::Cli);
    assert!(table["b"].crates.contains("k8s_x"));
    assert!(matches!(table["c"].imports, Imports::Everything));
    assert_eq!(below(&table, "b").into_iter().collect::<Vec<_>>(), ["a"]);
}

#[test]
fn the_layers_have_no_cycle() {
    let table = parse(&crate::read("ARCHITECTURE.md"));
    for layer in table.keys() {
        for lower in below(&table, layer) {
            assert!(
                !below(&table, &lower).contains(layer),
                "{layer} and {lower} import each other"
            );
        }
    }
}
