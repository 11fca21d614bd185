package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// readConfig reads the leaves of a config file by key; nil if there is no file.
// Another version of the program may have written the file, so nothing is validated.
func readConfig(path string) (map[string]string, error) {
	text, err := atomicfile.ReadFile(atomicfile.OS{}, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out, err := ParseConfig(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return out, nil
}

// ParseConfig returns the leaves of a config as text, by key. A list is a leaf, as JSON.
func ParseConfig(text []byte) (map[string]string, error) {
	var root map[string]any
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, err
	}
	out := map[string]string{}
	flatten(out, "", root)
	return out, nil
}

// flatten adds the leaves of a value below a key. A list is a leaf.
func flatten(out map[string]string, key string, v any) {
	if m, ok := v.(map[string]any); ok && (len(m) > 0 || key == "") {
		for k, x := range m {
			if key != "" {
				k = key + "." + k
			}
			flatten(out, k, x)
		}
		return
	}
	if list, ok := v.([]any); ok {
		if b, err := json.Marshal(list); err == nil { // fails for maps whose keys are not strings
			out[key] = string(b)
			return
		}
	}
	out[key] = fmt.Sprint(v)
}

// Differing returns the keys, sorted, whose values differ between the runs that have a config.
// A missing key differs from any value; model_dir is left out.
func Differing(all []Run) []string {
	values, count, configs := map[string]string{}, map[string]int{}, 0
	differ := map[string]bool{}
	for _, r := range all {
		if r.Config == nil {
			continue
		}
		configs++
		for key, v := range r.Config {
			if first, ok := values[key]; ok && first != v {
				differ[key] = true
			}
			values[key] = v
			count[key]++
		}
	}
	for key, n := range count {
		if n < configs {
			differ[key] = true
		}
	}
	delete(differ, "model_dir")
	var keys []string
	for key := range differ {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
