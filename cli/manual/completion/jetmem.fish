# SPDX-License-Identifier: Apache-2.0
# fish completion of jetmem
function __jetmem_complete --description 'What jetmem takes here'
    set -l words (commandline -opc) (commandline -ct)
    set -e words[1]
    jetmem __complete $words 2>/dev/null
end
complete -c jetmem -f -a '(__jetmem_complete | string match --invert -- /)'
complete -c jetmem -n '__jetmem_complete | string match --quiet -- /' -F
