package inputs

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// filesBelow returns the files below a folder, sorted, without hidden ones. It follows links to folders, but visits each folder once.
func filesBelow(dir string) ([]string, error) {
	t := folderTree{seen: map[string]bool{}, links: []string{dir}}
	for len(t.links) > 0 { // after all real folders, so that files get their real names
		link := t.links[0]
		t.links = t.links[1:]
		if err := t.walk(link); err != nil {
			return nil, fmt.Errorf("folder of input files: %w", err)
		}
	}
	slices.Sort(t.files)
	return t.files, nil
}

// folderTree collects what lies below a folder.
type folderTree struct {
	files []string
	links []string        // to folders, not yet followed
	seen  map[string]bool // folders, by names without links
}

// walk adds what lies below a folder without following links.
func (t *folderTree) walk(dir string) error {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	if real, err = filepath.Abs(real); err != nil {
		return err
	}
	if t.seen[real] {
		return nil
	}
	t.seen[real] = true
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		switch {
		case hidden(e.Name()):
		case e.IsDir():
			if err := t.walk(name); err != nil {
				return err
			}
		case isFolder(dir, e):
			t.links = append(t.links, name)
		case isFile(dir, e):
			t.files = append(t.files, name)
		}
	}
	return nil
}

// hidden reports whether programs such as Spark hide a file or folder: its name begins with a dot, or with an underscore
// and is no partition.
func hidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") && !strings.Contains(name, "=")
}

// inHidden reports whether name, which matches pattern, lies in a hidden folder that only a star matches, such as Spark's _temporary. A
// pattern that begins with the folder's dot or underscore includes it.
func inHidden(pattern, name string) bool {
	parts, of := strings.Split(path.Clean(filepath.ToSlash(name)), "/"), strings.Split(path.Clean(filepath.ToSlash(pattern)), "/")
	if len(parts) != len(of) {
		return false
	}
	for i, folder := range parts[:len(parts)-1] {
		if hidden(folder) && !strings.HasPrefix(of[i], folder[:1]) {
			return true
		}
	}
	return false
}

// glob returns the files that a pattern matches, sorted. A matching folder stands for all files below it.
func glob(pattern string) ([]string, error) {
	if parts := strings.Split(filepath.ToSlash(pattern), "/"); slices.Contains(parts, "**") {
		return globBelow(parts)
	}
	found, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, name := range found {
		if inHidden(pattern, name) {
			continue
		}
		st, err := os.Stat(name)
		if err != nil || !st.IsDir() {
			files = append(files, name) // opening it will report the error
			continue
		}
		if hidden(filepath.Base(name)) {
			continue
		}
		below, err := filesBelow(name)
		if err != nil {
			return nil, err
		}
		files = append(files, below...)
	}
	slices.Sort(files)
	return files, nil
}

// globBelow returns the files that a pattern with ** matches; ** matches any number of folders.
func globBelow(parts []string) ([]string, error) {
	for _, p := range parts {
		if _, err := path.Match(p, ""); err != nil {
			return nil, err
		}
	}
	root := slices.IndexFunc(parts, func(p string) bool { return strings.ContainsAny(p, "*?[") })
	dir := filepath.FromSlash(strings.Join(parts[:root], "/"))
	switch {
	case dir == "" && root > 0:
		dir = string(filepath.Separator)
	case dir == "":
		dir = "."
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return nil, nil // nothing matches
	}
	all, err := filesBelow(dir)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, name := range all {
		below, err := filepath.Rel(dir, name)
		if err != nil {
			return nil, err
		}
		if matches(parts[root:], strings.Split(filepath.ToSlash(below), "/")) {
			files = append(files, name)
		}
	}
	return files, nil
}

// matches reports whether the parts of a path match the parts of a well-formed pattern. Its time is proportional to the product of
// both numbers of parts.
func matches(pattern, name []string) bool {
	reached := make([]bool, len(name)+1) // whether the pattern's parts so far match the first i names
	reached[0] = true
	for _, p := range pattern {
		next := make([]bool, len(name)+1)
		for i := range next {
			if p == "**" {
				next[i] = reached[i] || i > 0 && next[i-1]
			} else if i > 0 && reached[i-1] {
				next[i], _ = path.Match(p, name[i-1]) // well formed
			}
		}
		reached = next
	}
	return reached[len(name)]
}
