const longestName = 150;

/** Content-Disposition by which a reader saves the content under this name (RFC 6266). */
export const contentDisposition = (fileName: string): string => {
  const name = fileName.slice(0, longestName).toWellFormed();
  const plain = name.replace(/[^\x20-\x7e]|["\\%/]/g, '_');
  const exact = encodeURIComponent(name).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16)}`,
  );
  return `attachment; filename="${plain}"${plain === name ? '' : `; filename*=UTF-8''${exact}`}`;
};
