// Package settings compares values that must be equal on all tasks of a job:
// hyper-parameters, variables, a digest of the graph. Settings are few and
// short, so that tasks can exchange all of them when they meet and name the
// differences.
package settings

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Settings are values by name.
type Settings map[string]string

// Setting is one value with its name.
type Setting struct{ Name, Value string }

const (
	// Rest is the setting that stands for the settings without room.
	Rest = "other settings"

	maxText  = 4096 // bytes of the settings that Make keeps, as JSON
	maxValue = 256  // bytes of a name or a value
)

// Make returns the settings of a list, with the most important first. Settings
// beyond 4 KiB are replaced by their number and digest, as Rest.
func Make(list []Setting) Settings {
	s := Settings{}
	size := 0
	for i, x := range list {
		x = Setting{clip(x.Name), clip(x.Value)}
		if size += len(encode(x)); size > maxText {
			s[Rest] = fmt.Sprintf("%d, digest %s", len(list)-i, Digest(encode(list[i:])))
			break
		}
		s[x.Name] = x.Value
	}
	return s
}

// clip shortens a text that is too long, keeping a digest of it.
func clip(text string) string {
	short, suffix := text, ""
	if len(text) > maxValue {
		short, suffix = text[:maxValue/2], "... digest "+Digest([]byte(text))
	}
	return strings.ToValidUTF8(short, "?") + suffix
}

// Digest is 16 hexadecimal digits of the SHA-256 of b.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// encode is the JSON of strings in any form, which cannot fail.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// Encode returns the settings as JSON; equal settings have equal bytes.
func (s Settings) Encode() []byte { return encode(map[string]string(s)) }

// Parse is the inverse of Encode.
func Parse(b []byte) (Settings, error) {
	s := Settings{}
	if len(b) > 2*maxText {
		return nil, fmt.Errorf("settings of %d bytes, expected at most %d", len(b), 2*maxText)
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	return s, nil
}

// Differences lists the settings that differ between s and theirs, by name. A
// name that one side has left to its Rest is not listed.
func (s Settings) Differences(theirs Settings) []Difference {
	names := maps.Clone(s)
	maps.Copy(names, theirs)
	var out []Difference
	for _, name := range slices.Sorted(maps.Keys(names)) {
		mine, here := s[name]
		other, there := theirs[name]
		switch _, folded := s[Rest]; {
		case here && there && mine == other, !here && folded:
			continue
		}
		if _, folded := theirs[Rest]; !there && folded {
			continue
		}
		out = append(out, Difference{Name: name, Mine: value(mine, here), Theirs: value(other, there)})
	}
	return out
}

// value formats a setting for messages.
func value(v string, ok bool) string {
	if !ok {
		return "none"
	}
	return v
}
