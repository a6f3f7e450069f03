/**
 * Returns a function that answers what `make` makes of a body. A frozen body is answered again and again, so what is made
 * of it is kept as long as the body.
 */
export const keepFrozen = <Made>() => {
  const kept = new WeakMap<object, Made>();
  return (body: object, make: () => Made): Made => {
    if (!Object.isFrozen(body)) return make();
    const made = kept.get(body) ?? make();
    kept.set(body, made);
    return made;
  };
};
