package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// withCommit calls f with a temporary folder that holds a commit's files.
func withCommit(root, commit string, f func(root string) error) error {
	dir, err := os.MkdirTemp("", "house-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	archive := filepath.Join(dir, "commit.tar")
	tree := filepath.Join(dir, "tree")
	if err := os.Mkdir(tree, 0o755); err != nil {
		return err
	}
	for _, c := range [][]string{{"git", "-C", root, "archive", "--output", archive, commit}, {"tar", "-xf", archive, "-C", tree}} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s of %s: %w\n%s", c[0], commit, err, out)
		}
	}
	return f(tree)
}
