/** Whether answers were right, once the scene is uncovered: known of examples and empty cells, else the reader judges. */

/** True or false, or null where only the person who drew can tell; `labels` are those of the cells, from the first. */
export function judged(answer, labels) {
  if (answer.kind === "cell") {
    const label = labels[answer.number - 1];
    if (label === "") return !there(answer.told);
    if (!there(answer.told)) return false;
    return label === null || answer.told.prediction === null ? null : answer.told.prediction === label;
  }
  const { name, remembered, cell } = answer.told;
  if (remembered !== false) return labels[cell - 1] === null ? null : labels[cell - 1] === name;
  if (labels.includes(name)) return false;
  return labels.includes(null) ? null : true;
}

/** Whether something is believed to have been in a cell. */
export function there(cell) {
  return cell.there === null ? cell.prediction !== null : cell.there >= 0.5;
}
