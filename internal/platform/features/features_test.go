package features

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestTags: each feature has a file of its name whose build constraint is its tag, and its errors name the tag.
func TestTags(t *testing.T) {
	constraint := regexp.MustCompile(`(?m)^//go:build (\S+)$`)
	for _, f := range List() {
		text, err := os.ReadFile(f.Name + ".go")
		if err != nil {
			t.Error(err)
			continue
		}
		want := f.Tag
		if !f.Adds {
			want = "!" + f.Tag
		}
		if m := constraint.FindSubmatch(text); m == nil || string(m[1]) != want {
			t.Errorf("%s.go: got constraint %q, expected %s", f.Name, m, want)
		}
		if err := (&MissingError{f}).Error(); !strings.Contains(err, "-tags "+f.Tag) || !strings.Contains(err, f.Name) {
			t.Errorf("%s: the error does not name the tag: %s", f.Name, err)
		}
	}
}

func TestNeed(t *testing.T) {
	for _, f := range List() {
		err := Need(f.Name)
		var missing *MissingError
		if f.Held != (err == nil) || err != nil && !errors.As(err, &missing) {
			t.Errorf("%s, held %v: got %v", f.Name, f.Held, err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a name that is no feature is taken")
		}
	}()
	_ = Need("luck")
}
