{{/* The plugins whose rights the scheduler gets, among those that need any. */}}
{{- define "pilotage.pluginsWithRights" -}}
{{- $rights := .Files.Get "files/plugin-rights.yaml" | fromYaml -}}
{{- if kindIs "string" .Values.rbac.plugins -}}
{{- keys $rights | sortAlpha | toYaml -}}
{{- else -}}
{{- $wanted := list -}}
{{- range .Values.rbac.plugins | uniq | sortAlpha -}}
{{- if hasKey $rights . }}{{ $wanted = append $wanted . }}{{ end -}}
{{- end -}}
{{- toYaml $wanted -}}
{{- end -}}
{{- end -}}

{{/* The kinds whose controllers run; none if the values disable them. */}}
{{- define "pilotage.controllers" -}}
{{- $rights := .Files.Get "files/controller-rights.yaml" | fromYaml -}}
{{- $wanted := list -}}
{{- if gt (int .Values.controller.replicaCount) 0 -}}
{{- if kindIs "string" .Values.controller.kinds -}}
{{- $wanted = keys $rights | sortAlpha -}}
{{- else -}}
{{- range .Values.controller.kinds | uniq | sortAlpha -}}
{{- if not (hasKey $rights .) -}}
{{- fail (printf "\ncontroller.kinds names %q, and there is no controller of it.\nThere are: %s." . (keys $rights | sortAlpha | join ", ")) -}}
{{- end -}}
{{- $wanted = append $wanted . -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $wanted -}}
{{- end -}}
