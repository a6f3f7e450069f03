import type { ComponentChildren } from 'preact';
import { usePlace } from '../router.tsx';
import { readFields } from './parts.tsx';

/** A form whose fields are in the address, so that a view can be kept and sent. */
export const Filters = ({ children }: { children: ComponentChildren }) => {
  const { setQuery } = usePlace();
  return (
    <form class="filters" onSubmit={(event) => setQuery({ ...readFields(event), page: null })}>
      {children}
      <button type="submit">Show</button>
    </form>
  );
};
