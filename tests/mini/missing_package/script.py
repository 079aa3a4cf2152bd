# Claim: ValueError: wrong shape
import package_that_nobody_wrote

package_that_nobody_wrote.reshape()
