/** Returns width divided by height of a ratio such as `16:9`, or of a size such as `1024x1536`. */
export const ratioProportion = (ratio: string): number => {
  const [width = 1, height = 1] = ratio.split(/[:x]/).map(Number);
  return width / height;
};
