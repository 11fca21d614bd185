package kernels

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRegistersOfLevels checks that kernels for processors without AVX-512 use none of its registers: the assembler accepts them for
// any instruction, and only such a processor would fail.
func TestRegistersOfLevels(t *testing.T) {
	only512 := regexp.MustCompile(`\b([XY](1[6-9]|2\d|3[01])|Z\d+|K[0-7])\b`)
	files, err := filepath.Glob("*_amd64.s")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files of assembly: %v", len(files), err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := ""
		for i, line := range strings.Split(string(b), "\n") {
			if rest, ok := strings.CutPrefix(line, "TEXT ·"); ok {
				name, _, _ = strings.Cut(rest, "(")
			}
			if r := only512.FindString(line); r != "" && !strings.Contains(name, "AVX512") {
				t.Errorf("%s:%d: %s uses %s, which is AVX-512's", file, i+1, name, r)
			}
		}
	}
}
