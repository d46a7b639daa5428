{{/* Non-empty if an object of the Prometheus operator is created: always, or if the cluster serves the kind. */}}
{{- define "pilotage.monitored" -}}
{{- if or (eq .enabled "always") (and (eq .enabled "auto") (.root.Capabilities.APIVersions.Has "monitoring.coreos.com/v1")) -}}
yes
{{- end -}}
{{- end -}}

{{/* A text of files/ with its marks replaced: @PODS selects the scheduler's pods, @OPERATOR the operator's, @LEADING only the leader's
     series, @ALIVE counts active schedulers, @WHERE is the release. With "escaped" the text is JSON, where quotes need a backslash. */}}
{{- define "pilotage.about" -}}
{{- $name := printf "%s-scheduler" (include "pilotage.fullname" .root) -}}
{{- $pods := printf "namespace=%q,pod=~\"%s-.*\"" .root.Release.Namespace $name -}}
{{- $operator := printf "namespace=%q,pod=~\"%s-operator-.*\"" .root.Release.Namespace (include "pilotage.fullname" .root) -}}
{{- $lease := printf "leader_election_master_status{%s,name=%q}" $pods $name -}}
{{- $leading := printf " * on (pod) group_left () (%s == 1)" $lease -}}
{{- $alive := printf "sum(%s)" $lease -}}
{{- if not .root.Values.scheduler.leaderElect -}}
{{- $leading = "" -}}
{{- $alive = printf "count(pilotage_build_info{%s})" $pods -}}
{{- end -}}
{{- $text := .root.Files.Get .file -}}
{{- range $mark, $meaning := dict "@PODS" $pods "@OPERATOR" $operator "@LEADING" $leading "@ALIVE" $alive "@WHERE" (printf "%s/%s" .root.Release.Namespace .root.Release.Name) -}}
{{- if $.escaped }}{{ $meaning = replace "\"" "\\\"" $meaning }}{{ end -}}
{{- $text = replace $mark $meaning $text -}}
{{- end -}}
{{- $text -}}
{{- end -}}
