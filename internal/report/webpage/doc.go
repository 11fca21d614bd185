// Package webpage has what our web pages share: files that do not change, and
// headers by which a browser loads nothing from elsewhere.
package webpage
