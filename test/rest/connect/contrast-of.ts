import type { Page } from 'playwright-core';
import { expect } from 'vitest';

/** The contrast of a text with the page (WCAG 2), which must be in the theme. */
export const contrastOf = async (page: Page, selector: string, theme: 'light' | 'dark'): Promise<number> => {
  const style = async (name: string, property: string): Promise<number> =>
    luminance(String(await page.evaluate(`getComputedStyle(document.querySelector('${name}')).${property}`)));
  const text = await style(selector, 'color');
  const back = await style('body', 'backgroundColor');
  expect(back > text ? 'light' : 'dark').toBe(theme);
  return (Math.max(text, back) + 0.05) / (Math.min(text, back) + 0.05);
};

const luminance = (color: string): number => {
  const [red = 0, green = 0, blue = 0] = (color.match(/[\d.]+/g) ?? []).map((part) => {
    const share = Number(part) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};
