/** The path of the picture of this service, as an SVG: two banks and the way between them. */
export const iconPath = '/favicon.svg';

export const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b5c7a"/>' +
  '<path d="M4 20a12 12 0 0 1 24 0M4 20h24M10 20v5M16 20v5M22 20v5" fill="none" stroke="#fff" stroke-width="3" ' +
  'stroke-linecap="round"/></svg>';
