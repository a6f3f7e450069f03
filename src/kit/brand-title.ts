/** Returns the brand as people read it. */
export const brandTitle = ({ brand }: { brand: string }): string =>
  `${brand.charAt(0).toUpperCase()}${brand.slice(1)}`;
