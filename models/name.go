package models

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// namePattern matches the names that TensorFlow accepts for a node.
const namePattern = `[A-Za-z0-9.][A-Za-z0-9_.\-/]*`

var validName = regexp.MustCompile(`^` + namePattern + `$`)

var errNoName = errors.New("it has no name")

// checkName checks the name of a variable or scope; full is the name with its
// scopes.
func checkName(name, full string) error {
	if name == "" {
		return errNoName
	}
	if !validName.MatchString(full) {
		return fmt.Errorf("the name %q is not one of TensorFlow's: expected %s", full, namePattern)
	}
	return nil
}

// nodeName turns a name that comes from data into one that TensorFlow accepts: "_"
// replaces each other character.
func nodeName(name string) string {
	out := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '/' || validName.MatchString(string(r)) {
			return r
		}
		return '_'
	}, name)
	if !validName.MatchString(out) { // its first character is not allowed at the beginning
		return "x" + out
	}
	return out
}
