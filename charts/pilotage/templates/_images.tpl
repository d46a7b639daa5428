{{/* An image from its value: empty, a string, or a map; a digest takes precedence over a tag. */}}
{{- define "pilotage.image" -}}
{{- if kindIs "string" .image -}}
{{- .image -}}
{{- else -}}
{{- $given := default dict .image -}}
{{- $common := .root.Values.image -}}
{{- $registry := hasKey $given "registry" | ternary $given.registry $common.registry -}}
{{- $name := default (printf "pilotage-%s" .component) $given.repository -}}
{{- with $registry }}{{ . }}/{{ end -}}
{{- $name -}}
{{- if $given.digest -}}
@{{ $given.digest }}
{{- else -}}
:{{ $given.tag | default $common.tag | default .root.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The pull policy of an image. */}}
{{- define "pilotage.pullPolicy" -}}
{{- $own := kindIs "map" .image | ternary .image dict -}}
{{- default .root.Values.image.pullPolicy $own.pullPolicy -}}
{{- end -}}
