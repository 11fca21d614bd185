package objectstore

import (
	"context"
	"crypto/md5"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gocloud.dev/blob/memblob"
)

type s3Object struct {
	Key, LastModified, ETag string
	Size                    int
}

type s3Prefix struct{ Prefix string }

type s3List struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	IsTruncated           bool
	NextContinuationToken string `xml:",omitempty"`
	Contents              []s3Object
	CommonPrefixes        []s3Prefix
}

// list answers ListObjectsV2, by pages as S3 does: of at most 1000 names, the next one from the token on.
func (s *s3) list(w http.ResponseWriter, q url.Values) {
	s.mu.Lock()
	defer s.mu.Unlock()
	prefix, most := q.Get("prefix"), 1000
	if n, err := strconv.Atoi(q.Get("max-keys")); err == nil {
		most = min(most, n)
	}
	var names []string
	for key := range s.objects {
		rest, ok := strings.CutPrefix(key, prefix)
		if at := strings.Index(rest, "/"); ok && q.Get("delimiter") == "/" && at >= 0 {
			key = prefix + rest[:at+1]
		}
		if ok && key >= q.Get("continuation-token") && !slices.Contains(names, key) {
			names = append(names, key)
		}
	}
	slices.Sort(names)
	var out s3List
	if len(names) > most {
		out.IsTruncated, out.NextContinuationToken, names = true, names[most], names[:most]
	}
	for _, name := range names {
		if content, ok := s.objects[name]; ok {
			out.Contents = append(out.Contents, s3Object{name, "2023-11-14T22:13:20.000Z", fmt.Sprintf(`"%x"`, md5.Sum([]byte(content))), len(content)})
		} else {
			out.CommonPrefixes = append(out.CommonPrefixes, s3Prefix{name})
		}
	}
	s.pages++
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(out)
}

// A version of more objects than a page of S3 is copied whole, and found among more versions than a page.
func TestPages(t *testing.T) {
	web := newS3(t)
	for v := range 1200 {
		web.put(fmt.Sprintf("iris/%d/saved_model.pb", v+1), "x")
	}
	const more = 2300
	for i := range more {
		web.put(fmt.Sprintf("iris/1200/assets/%d", i), strconv.Itoa(i))
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
	if web.pages < 2+3 {
		t.Errorf("%d pages were read", web.pages)
	}
}

// Whatever a base path is, it is refused or gets a folder of one name; whatever objects are called, their files lie below the version's.
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
			return // no name of an object
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
