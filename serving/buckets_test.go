package serving

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"
)

// TestFollowsFileToBucket: a changed config file takes effect although the bucket that it names could not be read at first.
func TestFollowsFileToBucket(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	if err := bucket.WriteAll(t.Context(), "n/1/saved_model.pb", []byte("x"), nil); err != nil {
		t.Fatal(err)
	}
	root := folders(t, "m/1")
	file := filepath.Join(root, "models.txt")
	write := func(name, base string) {
		text := fmt.Sprintf(`model_config_list {config {name: %q base_path: %q model_platform: "tensorflow"}}`, name, base)
		if err := errors.Join(os.WriteFile(file+".new", []byte(text), 0o644), os.Rename(file+".new", file)); err != nil {
			t.Fatal(err)
		}
	}
	write("m", filepath.Join(root, "m"))
	var opened atomic.Int32
	open := func(context.Context, string) (*blob.Bucket, error) {
		if opened.Add(1) < 3 {
			return nil, errors.New("the network is down")
		}
		return bucket, nil
	}
	s := run(t, Options{Models: Models{File: file, Poll: time.Millisecond}, Loading: Loading{CacheDir: t.TempDir(), openBucket: open}}).wait(t)
	write("n", "s3://bucket/n")
	waitFor(t, func() bool { return s.models.Has("n") && !s.models.Has("m") }, "the model in the bucket")
}

// TestBuckets: a model in a bucket is served, its next version replaces it, and no copy is left at the end.
func TestBuckets(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	put := func(key string) {
		if err := bucket.WriteAll(t.Context(), key, []byte("x"), nil); err != nil {
			t.Error(err)
		}
	}
	put("models/m/7/saved_model.pb")
	cache := t.TempDir()
	open := func(_ context.Context, url string) (*blob.Bucket, error) {
		if url != "s3://bucket" {
			t.Errorf("opened %s", url)
		}
		return bucket, nil
	}
	t.Cleanup(func() { // after the server
		if left, err := os.ReadDir(cache); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	})
	s := run(t, Options{Loader: loadNumbered, Models: Models{Config: ModelDirs(map[string]string{"m": "s3://bucket/models/m"})},
		Loading: Loading{Poll: 5 * time.Millisecond, CacheDir: cache, openBucket: open}}).wait(t)
	at := "http://" + s.Addresses().REST + "/v1/models/m"
	has := func(version string) func() bool {
		return func() bool {
			return strings.Contains(do(t, "POST", at+":predict", `{"inputs": 1.0}`), `"outputs": `+version)
		}
	}
	if !has("7")() {
		t.Errorf("got %s", get(t, at))
	}
	put("models/m/8/saved_model.pb")
	waitFor(t, has("8"), "version 8")
	if err := reload(testContext(t), plain(t, s.Addresses().GRPC), `model_config_list {config {name: "m" base_path: "s3://bucket/none" model_platform: "tensorflow"}}`); err == nil {
		t.Error("a bucket's path without versions is taken")
	}
	if !has("8")() {
		t.Errorf("after a reload that failed: got %s", get(t, at))
	}
}
