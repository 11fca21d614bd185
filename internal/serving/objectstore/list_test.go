package objectstore

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit/s3server"
	"gocloud.dev/blob/memblob"
)

// A version with more objects than fit a page of S3 is copied whole, and is found among more versions than fit a page.
func TestPages(t *testing.T) {
	web := s3server.New(t, "models")
	for v := range 1200 {
		web.Put(fmt.Sprintf("iris/%d/saved_model.pb", v+1), "x")
	}
	const more = 2300
	for i := range more {
		web.Put(fmt.Sprintf("iris/1200/assets/%d", i), strconv.Itoa(i))
	}
	s := newStore(t, Options{})
	cfg, err := s.Fetch(t.Context(), one(iris))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(files(t, cfg.GetModelConfigList().GetConfig()[0].GetBasePath()))
	if len(got) != more+1 || !slices.Contains(got, "1200/assets/2299=2299") || !slices.Contains(got, "1200/saved_model.pb=x") {
		t.Errorf("%d files, expected %d", len(got), more+1)
	}
	if web.Pages() < 2+3 {
		t.Errorf("%d pages were read", web.Pages())
	}
}

// Any base path is either refused or gets a folder whose name has one part. Whatever the names of objects, their files are below the version's folder.
func FuzzNames(f *testing.F) {
	for _, seed := range [][2]string{{"s3://b/m", "saved_model.pb"}, {"gs://b/../m", "../x"}, {"azblob://c", "a//b"}, {"s3://b/m?region=x&use_path_style=true", `a\\b`}, {"s3://b@host/m", "./a"}, {"s3://b/m#x", "/etc/passwd"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, base, name string) {
		if p, err := Placed(one(base)); err == nil && strings.Contains(base, "://") {
			if at := p.GetModelConfigList().GetConfig()[0].GetBasePath(); filepath.Dir(at) != "/" {
				t.Errorf("%q lies at %q", base, at)
			}
		}
		if at := folder(base); strings.ContainsAny(at, `/\\`) || at == "." || at == ".." {
			t.Errorf("%q has the folder %q", base, at)
		}
		ctx, b := context.Background(), memblob.OpenBucket(nil)
		defer b.Close()
		if b.WriteAll(ctx, "m/1/"+name, nil, nil) != nil {
			return // not a valid name of an object
		}
		all, err := list(ctx, b, "m/1/")
		if err != nil {
			return
		}
		for _, o := range all {
			if root := filepath.FromSlash("/cache/m/1"); !strings.HasPrefix(filepath.Join(root, o.path), root+string(filepath.Separator)) {
				t.Errorf("object %q is written to %q", name, o.path)
			}
		}
	})
}
