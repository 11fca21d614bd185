package serving

import (
	"os"
	"path/filepath"
	"testing"
)

func TestModelDirs(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for base, want := range map[string]string{
		"exports/iris":     filepath.Join(here, "exports", "iris"),
		dir:                dir,
		"s3://models/iris": "s3://models/iris",
		"":                 "", // refused with its model's name
	} {
		list := ModelDirs(map[string]string{"iris": base}).GetModelConfigList().GetConfig()
		if len(list) != 1 || list[0].GetName() != "iris" || list[0].GetBasePath() != want {
			t.Errorf("%q: got %v, expected %q", base, list, want)
		}
	}
}
