package violation

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

// List collects violations. The zero value is an empty list.
type List struct{ Found []Violation }

// Add adds a violation.
func (l *List) Add(field string, value any, bound string) {
	l.Found = append(l.Found, Violation{Field: field, Value: value, Bound: bound})
}

// Require adds a violation unless ok.
func (l *List) Require(ok bool, field string, value any, bound string) {
	if !ok {
		l.Add(field, value, bound)
	}
}

// OneOf requires a text to be in a list; a list may begin with "", which is not shown.
func (l *List) OneOf(field, value string, list ...string) {
	if slices.Contains(list, value) {
		return
	}
	if list[0] == "" {
		list = list[1:]
	}
	l.Add(field, value, "expected one of "+strings.Join(list, ", "))
}

// Regexp requires a text to be a regular expression.
func (l *List) Regexp(field, text string) {
	if _, err := regexp.Compile(text); err != nil {
		l.Add(field, text, "expected a regular expression: "+err.Error())
	}
}

// Include adds the violations of a section, an [*Error], under the section's name.
// Nil adds none; another error is a violation of the section itself.
func (l *List) Include(section string, err error) {
	var found *Error
	switch {
	case err == nil:
	case errors.As(err, &found):
		for _, v := range found.Violations {
			v.Field = Join(section, v.Field)
			l.Found = append(l.Found, v)
		}
	default:
		l.Add(section, nil, err.Error())
	}
}

// Join returns the key of a field within a section, which may be an entry of a list: [0].
func Join(section, field string) string {
	if section == "" || field == "" || field[0] == '[' {
		return section + field
	}
	return section + "." + field
}

// Below reports whether there is a violation at a key or below it.
func (l *List) Below(key string) bool {
	return slices.ContainsFunc(l.Found, func(v Violation) bool { return Within(v.Field, key) })
}

// Within reports whether key equals above, or is below it.
func Within(key, above string) bool {
	rest, ok := strings.CutPrefix(key, above)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Err returns an [*Error], nil without violations.
func (l *List) Err() error {
	if len(l.Found) == 0 {
		return nil
	}
	return &Error{Violations: l.Found}
}
