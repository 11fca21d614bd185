// Command house prints figures about the structure of the code: lines, packages, the
// public surface, sizes of functions and files, what lacks a doc or an Example.
//
//	go run ./scripts/house                   # the working tree
//	go run ./scripts/house -against 239d0cd  # that commit and the working tree, side by side
//	go run ./scripts/house -list internal    # the public signatures that name internal types
//	go generate ./scripts/house              # writes the map of packages in docs/architecture.md, and docs/dependencies.md
//
// Production code is code that is neither a test nor generated, in the module
// itself and not in modules below it. A package is public if it is meant to be
// imported by other modules: outside of internal, cmd, bench, scripts, examples,
// accept, interop and docs. Exported identifiers are its functions, methods of
// exported types, types, constants and variables. A signature names an internal
// type if that type is part of the type of such an identifier or of an exported
// field, also through an alias or if the type is inferred.
//
// layers.txt orders packages: a package may import packages of its own layer and
// of the layers below. Tests fail if an import goes up, the map is out of date, or
// a package has no doc or Example. Another test compares the table of
// CONTRIBUTING.md, which lists the files to change to add something, with the
// files that name the table's examples.
package main
