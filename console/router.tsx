import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { toQuery } from './api.ts';
import { useConsole } from './use-console.ts';

const moved = 'console:moved';

/** Goes to a path below /console, which has its query. */
const go = (address: string): void => {
  history.pushState({ isVisit: true }, '', address);
  globalThis.dispatchEvent(new Event(moved));
};

/** True if a link of the console led here. */
export const isVisit = (): boolean => (history.state as { isVisit?: boolean } | null)?.isVisit === true;

export interface Place {
  /** Below /console, without slashes around it; empty at its home. */
  path: string;
  query: URLSearchParams;
  /** Changes fields of the query; null removes one. */
  setQuery(changes: Readonly<Record<string, string | null>>): void;
  /** The address of a path below /console. */
  to(path: string): string;
  visit(path: string): void;
}

/** The place in the console, which the address has. */
export const usePlace = (): Place => {
  const { base } = useConsole();
  const [, setTurn] = useState(0);
  useEffect(() => {
    const update = (): void => setTurn((turn) => turn + 1);
    globalThis.addEventListener('popstate', update);
    globalThis.addEventListener(moved, update);
    return () => {
      globalThis.removeEventListener('popstate', update);
      globalThis.removeEventListener(moved, update);
    };
  }, []);
  const root = `${base}/console`;
  const to = (path: string): string => (path === '' ? root : `${root}/${path}`);
  const query = new URLSearchParams(location.search);
  return {
    path: location.pathname.slice(root.length).replace(/^\/+|\/+$/g, ''),
    query,
    setQuery: (changes) => go(location.pathname + toQuery({ ...Object.fromEntries(query), ...changes })),
    to,
    visit: (path) => go(to(path)),
  };
};

interface LinkProps {
  /** Below /console. */
  path: string;
  children: ComponentChildren;
  isCurrent?: boolean;
  class?: string;
}

/** A link within the console, which loads no page. */
export const Link = ({ path, children, isCurrent, class: name }: LinkProps) => {
  const { to, visit } = usePlace();
  const follow = (event: MouseEvent): void => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    visit(path);
    globalThis.scrollTo(0, 0);
  };
  return (
    <a href={to(path)} class={name} aria-current={isCurrent === true ? 'page' : undefined} onClick={follow}>
      {children}
    </a>
  );
};
