package main

import (
	"regexp"
	"strings"
)

// copyleft are the licences that ask for the source of what they are linked with, or for that of changes.
var copyleft = []string{"AGPL", "LGPL", "GPL", "MPL-2.0", "EPL", "CDDL"}

// known are sentences of licences, in small letters with single spaces, the first that fits counts.
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

// classify returns SPDX's name of a licence, without a version for those of GNU; "" for a text that is none it knows.
func classify(text []byte) string {
	t := folded(string(text))
	for _, k := range known {
		if strings.Contains(t, folded(k.sentence)) {
			return k.name
		}
	}
	return ""
}

// folded is a text in small letters, without commas, with single spaces.
func folded(text string) string {
	return space.ReplaceAllString(strings.ToLower(text), " ")
}
