package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

func TestClassify(t *testing.T) {
	for text, want := range map[string]string{
		"Apache License\n   Version 2.0, January 2004":                                                             "Apache-2.0",
		"Permission is hereby granted, free of\ncharge, to any person obtaining a copy of this":                    "MIT",
		"Redistribution and use in source and binary forms, with or without\nmodification, are permitted provided": "BSD-2-Clause",
		"Redistribution and use ... Neither the name of X may be used to endorse or promote products derived from": "BSD-3-Clause",
		"GNU GENERAL PUBLIC LICENSE\n  Version 3, 29 June 2007":                                                    "GPL",
		"Mozilla Public License Version 2.0\n====":                                                                 "MPL-2.0",
		"All rights reserved.": "", "": "",
	} {
		if got := classify([]byte(text)); got != want {
			t.Errorf("%q: got %q, expected %q", text, got, want)
		}
	}
}

// TestNotices checks that copyleft, missing and unknown licences are errors that name them.
func TestNotices(t *testing.T) {
	read := func(files map[string]string) module {
		m := module{path: "example.org/m", version: "v1.0.0", dir: t.TempDir()}
		for name, content := range files {
			if err := os.WriteFile(filepath.Join(m.dir, name), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.read(); err != nil {
			t.Fatal(err)
		}
		return m
	}
	mit := "Permission is hereby granted, free of charge, to any person obtaining a copy"
	good := read(map[string]string{"LICENSE": mit, "NOTICE.txt": "by us", "main.go": "package m"})
	text, err := notices([]module{good}, nil)
	if err != nil || !bytes.Contains(text, []byte(mit)) || !bytes.Contains(text, []byte("by us")) || bytes.Contains(text, []byte("package m")) {
		t.Errorf("%v\n%s", err, text)
	}
	if text, err := notices([]module{read(map[string]string{"README.md": "# m\n" + mit})}, nil); err != nil || !bytes.Contains(text, []byte(mit)) {
		t.Errorf("a licence in the README: %v\n%s", err, text)
	}
	for want, files := range map[string]map[string]string{
		"has no file of a licence": {"main.go": "", "README": "hello"}, "is none of those known": {"COPYING": "pay me"},
		"the licence GPL": {"LICENSE": mit, "LICENSE-GPL": "GNU General Public License, version 2"},
	} {
		if _, err := notices([]module{good, read(files)}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, expected %q", files, err, want)
		}
	}
}

func TestSBOM(t *testing.T) {
	info := &buildinfo.BuildInfo{GoVersion: "go1.26", Path: "example.org/cmd", Main: debug.Module{Path: "example.org", Version: "v1.2.3"}, Settings: []debug.BuildSetting{{Key: "-tags", Value: "gcs"}}}
	text, err := sbom([]module{{path: "example.org/m", version: "v1.0.0", sum: "h1:x=", licence: "MIT"}}, info)
	if err != nil {
		t.Fatal(err)
	}
	var b bom
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	if b.Format != "CycloneDX" || b.Metadata.Component.URL != "pkg:golang/example.org@v1.2.3" || len(b.Components) != 1 ||
		b.Components[0].URL != "pkg:golang/example.org/m@v1.0.0" || b.Components[0].Licenses[0].License.ID != "MIT" || b.Metadata.Component.Properties[0].Value != "gcs" {
		t.Errorf("got %s", text)
	}
}
