package inputs

import (
	"cmp"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A hiddenName is the name of a database held by an environment variable. Errors show the variable instead. The zero value hides
// nothing.
type hiddenName struct {
	variable, name string
}

// in returns err without the name, its password and what drivers make of them. The error of a row remains a *DataError.
func (h hiddenName) in(err error) error {
	if err == nil || h.variable == "" {
		return err
	}
	var row *DataError
	if errors.As(err, &row) {
		shown := *row
		shown.Err = h.in(row.Err)
		return &shown
	}
	text := err.Error()
	if h.tellsURL(err) {
		return &explained{err, "$" + h.variable + " is not a valid URL: write #, /, ?, % and @ of a password as %23, %2F, %3F, %25 and %40"}
	}
	var pairs []string
	for _, s := range h.secrets() {
		pairs = append(pairs, s, "$"+h.variable)
	}
	if hidden := strings.NewReplacer(pairs...).Replace(text); hidden != text {
		return &explained{err, hidden}
	}
	return err
}

// tellsURL reports whether an error explains why the name is no URL: such an error may show any part of it.
func (h hiddenName) tellsURL(err error) bool {
	var bad *url.Error
	if errors.As(err, &bad) && bad.Op == "parse" {
		return true
	}
	_, own := url.Parse(h.name)
	return errors.As(own, &bad) && strings.Contains(err.Error(), bad.Err.Error())
}

// The places of passwords in database names.
var (
	userPassword  = regexp.MustCompile(`(?s)^(?:[\w+.-]+://)?[^:/@]*:(.*)@`)                                                                                      // scheme://USER:PASSWORD@host, USER:PASSWORD@tcp(host)
	namedPassword = regexp.MustCompile(`(?i)(?:password|passwd|passphrase|pwd|pass|secret|token|key)\s*=\s*("(?:\\.|[^"])*"|'(?:\\.|[^'])*'|\{[^}]*\}|[^\s;&]+)`) // password=PASSWORD
)

// secrets returns the texts to hide, longest first: the name, its passwords, and both escaped as in a URL or a quoted string.
func (h hiddenName) secrets() []string {
	found := []string{h.name}
	if m := userPassword.FindStringSubmatch(h.name); m != nil {
		found = append(found, m[1])
		for _, part := range strings.FieldsFunc(m[1], func(r rune) bool { return strings.ContainsRune("#/?@", r) }) {
			if len(part) > 2 { // the driver splits an unescaped password there
				found = append(found, part)
			}
		}
	}
	for _, m := range namedPassword.FindAllStringSubmatch(h.name, -1) {
		found = append(found, m[1], strings.Trim(m[1], `'"{}`))
	}
	if u, err := url.Parse(h.name); err == nil {
		password, _ := u.User.Password()
		found = append(found, password, u.String(), u.Redacted())
	}
	for _, s := range slices.Clone(found) {
		quoted := strconv.Quote(s)
		found = append(found, quoted[1:len(quoted)-1], url.QueryEscape(s), url.PathEscape(s))
		if plain, err := url.PathUnescape(s); err == nil {
			found = append(found, plain)
		}
	}
	found = slices.DeleteFunc(found, func(s string) bool { return s == "" })
	slices.SortFunc(found, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(found)
}
