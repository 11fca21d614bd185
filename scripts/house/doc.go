// Command house prints what the shape of the code is: lines, packages, the public
// surface, sizes of functions and files, what lacks a doc or an Example.
//
//	go run ./scripts/house                   # of the working tree
//	go run ./scripts/house -against 239d0cd  # of that commit and of the working tree, side by side
//	go run ./scripts/house -list internal    # where public signatures name internal types
//	go generate ./scripts/house              # the map of packages in docs/architecture.md, and docs/dependencies.md
//
// Production code is what is neither a test nor generated, in the module itself
// and not in those below it. A package is public where another module can import
// it and is meant to: outside of internal, cmd, bench, scripts, examples, accept,
// interop and docs. Exported identifiers are its functions, methods of exported
// types, types, constants and variables. A signature names an internal type where
// that type stands in the type of such an identifier or of an exported field,
// also behind an alias or where the type is inferred.
//
// layers.txt orders packages: one imports packages of its own layer and of the
// layers below. Tests refuse an import that goes up, a map that is stale, and a
// package without doc or Example. Another compares the table of CONTRIBUTING.md,
// which files to touch to add something, with the files that name the examples of
// the table.
package main
