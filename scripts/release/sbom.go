package main

import (
	"debug/buildinfo"
	"encoding/json"
)

// bom is a CycloneDX 1.5 document.
type bom struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	URL        string     `json:"purl,omitempty"`
	Licenses   []licence  `json:"licenses,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type licence struct {
	License struct {
		ID string `json:"id"`
	} `json:"license"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// sbom returns the bill of materials of a binary. It contains no time and no random number, so equal binaries have equal ones.
func sbom(modules []module, info *buildinfo.BuildInfo) ([]byte, error) {
	main := component{Type: "application", Ref: "pkg:golang/" + info.Main.Path + "@" + info.Main.Version, Name: info.Path, Version: info.Main.Version}
	main.URL = main.Ref
	for _, s := range info.Settings {
		main.Properties = append(main.Properties, property{"go:build:" + s.Key, s.Value})
	}
	b := bom{Format: "CycloneDX", Spec: "1.5", Version: 1, Metadata: metadata{main}}
	for _, m := range modules {
		c := component{Type: "library", Ref: "pkg:golang/" + m.path + "@" + m.version, Name: m.path, Version: m.version}
		c.URL = c.Ref
		if m.licence != "" {
			l := licence{}
			l.License.ID = m.licence
			c.Licenses = []licence{l}
		}
		if m.sum != "" {
			c.Properties = []property{{"go:sum", m.sum}}
		}
		b.Components = append(b.Components, c)
	}
	text, err := json.MarshalIndent(b, "", "  ")
	return append(text, '\n'), err
}
