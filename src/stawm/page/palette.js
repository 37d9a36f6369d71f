/** The colour of each glimpse: early blue to late yellow, as in the figures of `stawm figure`. */

// In this order their lightness differs too, so they stay apart for people who see few colours.
const ORDER = [[44, 123, 229], [122, 83, 214], [202, 62, 160], [236, 98, 74], [246, 178, 40]];

/** The colour of glimpse `number` (from 1) of `count`, and the ink that is read on it. */
export function colourOf(number, count) {
  const where = ((number - 1) / Math.max(count - 1, 1)) * (ORDER.length - 1);
  const left = Math.min(Math.floor(where), ORDER.length - 2);
  const share = where - left;
  const mixed = ORDER[left].map((early, place) => Math.round((1 - share) * early + share * ORDER[left + 1][place]));
  const [red, green, blue] = mixed;
  const dark = 0.299 * red + 0.587 * green + 0.114 * blue < 128;
  return { fill: `rgb(${mixed.join(" ")})`, ink: dark ? "#fff" : "#14171c" };
}
