package main

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// notices returns the licences of modules, one after the other. It fails for missing, unknown and copyleft licences.
func notices(modules []module, _ *buildinfo.BuildInfo) ([]byte, error) {
	var b bytes.Buffer
	var errs []error
	b.WriteString("goestimator is distributed with the following software.\n")
	for _, m := range modules {
		switch {
		case len(m.texts) == 0:
			errs = append(errs, fmt.Errorf("%s %s has no file of a licence", m.path, m.version))
		case m.licence == "":
			errs = append(errs, fmt.Errorf("%s %s: the licence is none of those known: add it to scripts/release/licence.go, if it may be linked", m.path, m.version))
		case slices.Contains(copyleft, m.licence):
			errs = append(errs, fmt.Errorf("%s %s: the licence %s asks for the source of what it is linked with", m.path, m.version, m.licence))
		}
		fmt.Fprintf(&b, "\n%s\n%s %s (%s)\n", strings.Repeat("=", 80), m.path, m.version, m.licence)
		for _, t := range m.texts {
			fmt.Fprintf(&b, "\n--- %s\n\n%s\n", t.name, bytes.TrimSpace(t.content))
		}
	}
	return b.Bytes(), errors.Join(errs...)
}
