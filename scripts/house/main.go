package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

//go:generate go run . -map -root ../..

func main() {
	var o options
	flag.StringVar(&o.root, "root", ".", "folder of the module")
	flag.StringVar(&o.against, "against", "", "print the figures of this commit as well")
	flag.StringVar(&o.list, "list", "", "print, in place of the table, internal: signatures that name internal types; undocumented, unexampled: packages; large: functions and files; ops: files that name each op")
	flag.BoolVar(&o.houseMap, "map", false, "write the map of packages into docs/architecture.md, and docs/dependencies.md")
	flag.Parse()
	if err := run(os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	root, against, list string
	houseMap            bool
}

func run(out io.Writer, o options) error {
	if o.houseMap {
		return errors.Join(writeMap(o.root), writeDependencies(o.root))
	}
	var before *figures
	var ops []string // of the earlier commit, so that both columns cover the same ops
	if o.against != "" {
		err := withCommit(o.root, o.against, func(root string) (err error) {
			before, err = measure(root, nil)
			return err
		})
		if err != nil {
			return err
		}
		for _, s := range before.ops {
			ops = append(ops, s.what)
		}
	}
	now, err := measure(o.root, ops)
	switch {
	case err != nil:
		return err
	case o.list != "":
		return now.list(out, o.list)
	case before == nil:
		return table(out, []string{"now"}, now)
	}
	return table(out, []string{o.against, "now"}, before, now)
}
