import { render } from 'preact';
import { App } from './app.tsx';

const place = document.querySelector<HTMLElement>('#console');
if (place === null) throw new Error('the page has no place for the console');
const { brand = '', title = '' } = place.dataset;
// This script is at …/console/assets/, also where a proxy puts a path before it.
const base = new URL('../..', import.meta.url).pathname.replace(/\/$/, '');
place.replaceChildren();
render(<App base={base} brand={brand} title={title} />, place);
