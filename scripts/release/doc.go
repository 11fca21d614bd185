// Command release makes what goes beside a release binary, of the modules that are linked into it: their licences, and a bill of materials.
//
//	release notices [-o FILE] BINARY     the texts of all licences; it fails where one is not known, or asks for the source of what it is linked with
//	release sbom [-o FILE] BINARY        CycloneDX 1.5, as JSON
package main
