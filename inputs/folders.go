package inputs

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// filesBelow returns the files below a folder, sorted, without those that programs such as Spark hide: names that begin with a point or an
// underscore, and what folders of such names hold.
func filesBelow(dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		hidden := name != dir && (strings.HasPrefix(e.Name(), ".") || strings.HasPrefix(e.Name(), "_"))
		switch {
		case err != nil:
			return err
		case hidden && e.IsDir():
			return fs.SkipDir
		case !hidden && !e.IsDir() && isFile(filepath.Dir(name), e):
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("folder of input files: %w", err)
	}
	return files, nil
}

// globBelow returns the files that a pattern with ** matches, which stands for any number of folders.
func globBelow(pattern string) ([]string, error) {
	parts := strings.Split(filepath.ToSlash(pattern), "/")
	root := 0
	for !strings.ContainsAny(parts[root], "*?[") {
		root++
	}
	dir := strings.Join(parts[:root], "/")
	switch {
	case dir == "" && root > 0:
		dir = "/"
	case dir == "":
		dir = "."
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, nil // nothing matches
	}
	all, err := filesBelow(filepath.FromSlash(dir))
	if err != nil {
		return nil, err
	}
	var files []string
	for _, name := range all {
		below, err := filepath.Rel(filepath.FromSlash(dir), name)
		if err != nil {
			return nil, err
		}
		ok, err := matches(parts[root:], strings.Split(filepath.ToSlash(below), "/"))
		if err != nil {
			return nil, fmt.Errorf("bad file pattern %q: %w", pattern, err)
		}
		if ok {
			files = append(files, name)
		}
	}
	return files, nil
}

// matches reports whether the parts of a path match those of a pattern. It takes time in proportion to the product of their numbers.
func matches(pattern, name []string) (bool, error) {
	reached := make([]bool, len(name)+1) // by the parts of the pattern so far
	reached[0] = true
	for _, p := range pattern {
		next := make([]bool, len(name)+1)
		for i := range reached {
			if p == "**" {
				next[i] = reached[i] || i > 0 && next[i-1]
				continue
			}
			if i == 0 || !reached[i-1] {
				continue
			}
			ok, err := path.Match(p, name[i-1])
			if err != nil {
				return false, err
			}
			next[i] = ok
		}
		reached = next
	}
	return reached[len(name)], nil
}
