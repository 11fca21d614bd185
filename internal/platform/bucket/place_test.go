package bucket

import (
	"fmt"
	"testing"

	_ "gocloud.dev/blob/memblob"
)

func TestParse(t *testing.T) {
	for base, want := range map[string]string{
		"s3://b/models/iris":  "{s3://b models/iris} <nil>",
		"s3://b/models/iris/": "{s3://b models/iris} <nil>",
		"s3://b":              "{s3://b } <nil>",
		"gs://b/m":            "{gs://b m} <nil>",
		"azblob://b/m":        "{azblob://b m} <nil>",
		"s3://b/m?region=eu-west-1&use_path_style=true": "{s3://b?region=eu-west-1&use_path_style=true m} <nil>",
		"http://b/m":           "got scheme http, expected s3, gs or azblob, or a path of this machine",
		"mem://b/m":            "got scheme mem, expected s3, gs or azblob, or a path of this machine",
		"s3:///m":              "expected s3://BUCKET/PATH",
		"s3://user:secret@b/m": "expected s3://BUCKET/PATH",
		"s3://b:9000/m":        "expected s3://BUCKET/PATH",
		"s3://b/m?endpoint=http://169.254.169.254": `parameter endpoint: expected one of ["region" "use_path_style"]: endpoints and credentials are set by the environment`,
		"gs://b/m?private_key_path=/etc/passwd":    `parameter private_key_path: expected one of []: endpoints and credentials are set by the environment`,
		"s3://b/../m":                              "path /../m: expected one without . and .. and with single slashes",
		"s3://b/m//n":                              "path /m//n: expected one without . and .. and with single slashes",
		"s3://b/%ZZ":                               `parse "s3://b/%ZZ": invalid URL escape "%ZZ"`,
	} {
		p, err := Parse(base)
		got := fmt.Sprint(p, " ", err)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", base, got, want)
		}
	}
}

// Other schemes are accepted if the program has their driver.
func TestParseAny(t *testing.T) {
	for name, want := range map[string]string{
		"s3://b/a?region=x": "{s3://b?region=x a} <nil>",
		"mem://b/dir/a.csv": "{mem://b dir/a.csv} <nil>",
		"mem://b/a?nomd5":   "{ } parameter nomd5: expected one of []: endpoints and credentials are set by the environment",
		"ftp://b/a":         "{ } got scheme ftp, expected s3, gs or azblob, or a path of this machine",
	} {
		p, err := ParseAny(name)
		if got := fmt.Sprint(p, " ", err); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
}

// The URL of a key parses back to the key.
func FuzzObject(f *testing.F) {
	for _, key := range []string{"a.csv", "dir/a b.csv", "a%20b", "a?b#c", "ü/*[x]", `a\b`} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		for _, at := range []string{"s3://b", "s3://b?region=x"} {
			name := Place{Bucket: at}.Object(key)
			p, err := ParseAny(name)
			if err != nil {
				continue // a key that URLs cannot express, such as a//b
			}
			if p.Path != key && "/"+p.Path != key && p.Path+"/" != key || p.Bucket != at {
				t.Errorf("%q is %s, which is %v", key, name, p)
			}
		}
	})
}
