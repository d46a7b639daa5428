module pilotage.dev/hack/pause

go 1.26.0
