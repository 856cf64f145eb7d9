# SPDX-License-Identifier: Apache-2.0
# bash completion of jetmem
_jetmem() {
  mapfile -t COMPREPLY < <(jetmem __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1)
  [[ ${COMPREPLY[0]-} != / ]] ||
    mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]#=}")
}
complete -o filenames -F _jetmem jetmem
