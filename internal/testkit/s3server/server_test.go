package s3server_test

import (
	"testing"

	"github.com/goestimator/goestimator/internal/platform/bucket"
	"github.com/goestimator/goestimator/internal/testkit/s3server"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/s3blob"
)

// The S3 SDK lists and reads the objects that a test has put.
func TestServer(t *testing.T) {
	web := s3server.New(t, "data")
	web.Put("a/b.csv", "1,2\n")
	b, err := bucket.Open(t.Context(), "s3://data?use_path_style=true")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var keys []string
	err = bucket.Each(t.Context(), b, blob.ListOptions{}, func(o *blob.ListObject) error { keys = append(keys, o.Key); return nil })
	if err != nil || len(keys) != 1 || keys[0] != "a/b.csv" || web.Pages() != 1 {
		t.Errorf("%q in %d pages, %v", keys, web.Pages(), err)
	}
	if text, err := b.ReadAll(t.Context(), keys[0]); err != nil || string(text) != "1,2\n" || web.Reads(keys[0]) != 1 {
		t.Errorf("%q, %v", text, err)
	}
	web.Remove("a/")
	if there, err := b.Exists(t.Context(), keys[0]); err != nil || there {
		t.Errorf("removed: %v, %v", there, err)
	}
}
