package inputs

import (
	"fmt"
	"github.com/goestimator/goestimator/internal/platform/printable"
	"regexp"
	"slices"
	"strings"
)

// StateMismatchError reports that an iterator state belongs to another pipeline. It wraps
// ErrStateMismatch.
type StateMismatchError struct {
	Saved, Now string // the descriptions of both pipelines
}

// Error says how the first step that differs has changed, and how to change it back.
func (e *StateMismatchError) Error() string {
	saved, now := strings.Split(e.Saved, " | "), strings.Split(e.Now, " | ")
	if saved[0] != now[0] {
		return sourceMismatch(saved[0], now[0])
	}
	if a, b := configured(saved), configured(now); !slices.Equal(a, b) {
		saved, now = a, b
	}
	same := 0
	for same < min(len(saved), len(now)) && saved[same] == now[same] {
		same++
	}
	return stepsMismatch(saved[same:], now[same:])
}

// configured returns the steps that a Spec asks for, without the cache that a Shuffle adds.
func configured(steps []string) []string {
	return slices.DeleteFunc(slices.Clone(steps), func(s string) bool { return s == "cache" })
}

// stepsMismatch compares the steps after those that are the same.
func stepsMismatch(saved, now []string) string {
	switch {
	case len(now) == 0 || len(saved) > 0 && !hasStep(now, saved[0]):
		return fmt.Sprintf("put the input's step %s back", shortened(saved[0]))
	case len(saved) == 0 || !hasStep(saved, now[0]):
		return fmt.Sprintf("leave out the input's step %s", shortened(now[0]))
	}
	return stepMismatch(saved[0], now[0])
}

// hasStep reports whether there is a step of the same name.
func hasStep(steps []string, step string) bool {
	name, _, _ := strings.Cut(step, "(")
	return slices.ContainsFunc(steps, func(s string) bool { n, _, _ := strings.Cut(s, "("); return n == name })
}

// Unwrap returns ErrStateMismatch.
func (e *StateMismatchError) Unwrap() error { return ErrStateMismatch }

// sourceForm is the description of files: format(names)[columns].
var sourceForm = regexp.MustCompile(`(?s)^(\w+)\((.*)\)\[(.*)\]$`)

// sourceMismatch compares the sources of two descriptions.
func sourceMismatch(saved, now string) string {
	a, b := sourceForm.FindStringSubmatch(saved), sourceForm.FindStringSubmatch(now)
	switch {
	case a == nil || b == nil:
		return fmt.Sprintf("give the input the data %s again, which is %s now", shortened(saved), shortened(now))
	case a[1] != b[1]:
		return fmt.Sprintf("give the input the data of format %s again, which is %s now", a[1], b[1])
	case a[2] != b[2]:
		return filesMismatch(strings.Fields(a[2]), strings.Fields(b[2]))
	}
	gone, come := differences(strings.Split(a[3], ", "), strings.Split(b[3], ", "))
	return fmt.Sprintf("give the input the columns that it had again: %s", instead(gone, come))
}

func filesMismatch(saved, now []string) string {
	gone, come := differences(saved, now)
	switch {
	case len(gone) == 0 && len(come) == 0:
		return "give the input its files in the order that they had again"
	case len(gone) == 0:
		return "leave the input's new files out again: " + listed(come)
	case len(come) == 0:
		return "give the input its files again that are gone: " + listed(gone)
	case len(gone) == 1 && len(come) == 1:
		return fmt.Sprintf("name the input's file %s again, which is %s now", gone[0], come[0])
	}
	return "give the input the files that it had again: " + instead(gone, come)
}

func instead(gone, come []string) string {
	switch {
	case len(gone) == 0:
		return "new are " + listed(come)
	case len(come) == 0:
		return "gone are " + listed(gone)
	}
	return fmt.Sprintf("gone are %s; new are %s", listed(gone), listed(come))
}

// differences returns what is only in a, and what is only in b.
func differences(a, b []string) (onlyA, onlyB []string) {
	lacks := func(list []string) func(string) bool {
		return func(s string) bool { return slices.Contains(list, s) }
	}
	return slices.DeleteFunc(slices.Clone(a), lacks(b)), slices.DeleteFunc(slices.Clone(b), lacks(a))
}

// listed lists the first few names.
func listed(names []string) string {
	const most = 3
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// stepForm is the description of a step: name(settings).
var stepForm = regexp.MustCompile(`(?s)^(\w+)\((.*)\)\*?$`)

// settings has the keys in a Spec for the settings of a step, in order, for settings
// that have a key.
var settings = map[string][]string{"shuffle": {"shuffle", "seed"}, "batch": {"batch_size", "drop_remainder"}, "skip": {"skip"}, "take": {"take"}}

// stepMismatch compares a step after the source.
func stepMismatch(saved, now string) string {
	a, b := stepForm.FindStringSubmatch(saved), stepForm.FindStringSubmatch(now)
	if a != nil && b != nil && a[1] == b[1] {
		was, is := strings.Split(a[2], ","), strings.Split(b[2], ",")
		for i, name := range settings[a[1]] {
			if i < min(len(was), len(is)) && was[i] != is[i] {
				return fmt.Sprintf("set the input's %s to %s again, which is %s now", name, was[i], is[i])
			}
		}
	}
	return fmt.Sprintf("put the input's step %s back, where %s is now", shortened(saved), shortened(now))
}

// shortened returns a description that is short enough for a message.
func shortened(s string) string { return printable.Short(s, 80) }
