package main

import (
	"regexp"
	"strings"
)

// copyleft are licences that require the source of the whole linked program, or of changes.
var copyleft = []string{"AGPL", "LGPL", "GPL", "MPL-2.0", "EPL", "CDDL"}

// known are sentences of licences in lower case with single spaces. The first match counts.
var known = []struct{ name, sentence string }{
	{"AGPL", "gnu affero general public license version 3"},
	{"LGPL", "gnu lesser general public license version"},
	{"LGPL", "gnu library general public license version"},
	{"GPL", "gnu general public license version"},
	{"MPL-2.0", "mozilla public license version 2.0"},
	{"EPL", "eclipse public license - v"},
	{"CDDL", "common development and distribution license"},
	{"Apache-2.0", "apache license version 2.0"},
	{"MIT", "permission is hereby granted, free of charge, to any person obtaining a copy"},
	{"ISC", "permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted"},
	{"ISC", "permission to use, copy, modify, and distribute this software for any purpose with or without fee is hereby granted"},
	{"BSD-3-Clause", "may be used to endorse or promote products derived from"},
	{"BSD-2-Clause", "redistribution and use in source and binary forms, with or without modification, are permitted"},
	{"Unlicense", "this is free and unencumbered software released into the public domain"},
	{"CC0-1.0", "cc0 1.0 universal"},
}

var space = regexp.MustCompile(`[\s,]+`)

// classify returns the SPDX name of a licence, without a version for GNU licences, and "" for an unknown text.
func classify(text []byte) string {
	t := folded(string(text))
	for _, k := range known {
		if strings.Contains(t, folded(k.sentence)) {
			return k.name
		}
	}
	return ""
}

// folded returns a text in lower case, without commas and with single spaces.
func folded(text string) string {
	return space.ReplaceAllString(strings.ToLower(text), " ")
}
